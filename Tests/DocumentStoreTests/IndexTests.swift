import DocumentModel
import DocumentStoreTestKit
import FirestoreProtocol
import SQLite
import Testing

@testable import DocumentStore

struct IndexTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
    }

    private static let mixed = Query(
        parent: ParentName(TemporaryStore.database), collectionID: "a",
        filter: .field(FieldPath(key: "user"), .equal, .integer(1)),
        orders: [Query.Order(FieldPath(key: "n"), descending: true)], limit: 3)

    private func name(_ number: Int) throws -> DocumentName {
        try DocumentName(database: TemporaryStore.database, path: "a/\(number)")
    }

    private func write(_ number: Int, n: Int) throws -> Write {
        Write(.update(try name(number), fields: ["user": .integer(Int64(number % 2)), "n": .integer(Int64(n))]))
    }

    private func found(_ query: Query, in store: SQLiteDocumentStore) async throws -> [String] {
        var names: [String] = []
        for try await document in try await store.query(query).documents { names.append(document.name.id) }
        return names
    }

    /// Waits until the index is there.
    private func plan(_ query: Query, in store: SQLiteDocumentStore, contains property: String) async throws {
        while true {
            // Queries are what makes it.
            _ = try await found(query, in: store)
            if try await store.plan(query).contains(where: { $0.properties.contains(property) }) { return }
        }
    }

    @Test(arguments: [0, 1, 7, 100_000])
    func `entries that were pending are made again from the log`(batch: Int) async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.indexBatch = batch
        let store = try await temporary.open(configuration)
        for round in 0..<5 {
            for number in 0..<20 { _ = try await store.commit([try write(number, n: number * 7 % 13 + round)]) }
            _ = try await store.commit([Write(.delete(try name(round * 3)))])
        }
        let path = temporary.directory + "/copy.db"
        try await store.backUp(to: path)
        let wanted = try await found(Self.mixed, in: store)
        #expect(wanted.count == 3)
        #expect(try await store.check() == [])
        await store.close()
        let copy = try await SQLiteDocumentStore(TemporaryStore.database, path: path, configuration: configuration)
        #expect(try await copy.check() == [])
        #expect(try await found(Self.mixed, in: copy) == wanted)
        await copy.close()
    }

    @Test func `a query that reads much and wants little gets an index of its own, which lasts`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.tuning.compositeMinimum = 20
        var store = try await temporary.open(configuration)
        for first in stride(from: 0, to: 1200, by: 100) {
            _ = try await store.commit(try (first..<first + 100).map { try write($0, n: $0) })
        }
        #expect(try await found(Self.mixed, in: store) == ["1199", "1197", "1195"])
        try await plan(Self.mixed, in: store, contains: "user ASC, n DESC")
        #expect(try await found(Self.mixed, in: store) == ["1199", "1197", "1195"])
        _ = try await store.commit([try write(3, n: 5000), Write(.delete(try name(1197)))])
        #expect(try await found(Self.mixed, in: store) == ["3", "1199", "1195"])
        #expect(try await store.check() == [])
        await store.close()
        store = try await temporary.open(configuration)
        #expect(try await store.plan(Self.mixed).map(\.properties) == ["(user ASC, n DESC, __name__ DESC)"])
        #expect(try await found(Self.mixed, in: store) == ["3", "1199", "1195"])
        await store.close()
    }

    @Test(arguments: [("recent", 100_000), ("entry", 0)])
    func `check finds entries that are missing and entries of nothing`(table: String, batch: Int) async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.indexBatch = batch
        let store = try await temporary.open(configuration)
        _ = try await store.commit([try write(1, n: 1), try write(2, n: 2)])
        await store.close()
        let sqlite = try SQLiteDatabase(path: temporary.path)
        try sqlite.execute("DELETE FROM \(table) WHERE row=(SELECT min(row) FROM \(table))")
        #expect(try SQLiteDocumentStore.check(TemporaryStore.database, path: temporary.path).count == 1)
        try sqlite.execute("INSERT INTO \(table) VALUES(x'01017777', 1), (x'01017778', 1)")
        sqlite.close()
        #expect(try SQLiteDocumentStore.check(TemporaryStore.database, path: temporary.path).count == 1)
    }

    @Test func `the form of a composite index comes back from its name`() throws {
        let odd = FieldPath(key: "a.b/\u{0}\u{1}c")
        let index = CompositeIndex(parts: [
            .value(odd), .element(try FieldPath(["x", "y"])), .order(FieldPath(key: "z"), descending: false),
            .order(odd, descending: true),
        ])
        #expect(CompositeIndex(path: index.path) == index)
        #expect(CompositeIndex(path: [1, 2]) == nil)
        #expect(CompositeIndex(path: Array(index.path.dropLast())) == nil)
    }
}
