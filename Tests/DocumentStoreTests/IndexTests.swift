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

    private func found(
        _ query: Query, in store: SQLiteDocumentStore, for account: String? = nil
    ) async throws -> [String] {
        var names: [String] = []
        for try await document in try await store.query(query, at: .strong, for: account).documents {
            names.append(document.name.id)
        }
        return names
    }

    @Test(arguments: ["a", "a/", "//", "a/b", "&", "=", "\u{0}", "\u{1}", "\u{0}/"])
    func `a composite index is known again by its name, whatever its fields are called`(key: String) throws {
        let field = FieldPath(key: key)
        let parts: [CompositeIndex.Part] = [
            .value(field), .element(FieldPath(key: "b")), .order(field, descending: true),
        ]
        let index = CompositeIndex(parts: parts)
        #expect(CompositeIndex(path: index.path) == index)
    }

    /// Waits until the index exists.
    private func plan(
        _ query: Query, in store: SQLiteDocumentStore, for account: String? = nil, contains property: String
    ) async throws {
        while true {
            // Queries cause its creation.
            _ = try await found(query, in: store, for: account)
            let plan = try await store.plan(query, for: account)
            if plan.contains(where: { $0.properties.contains(property) }) { return }
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

    @Test
    func `the indexes of an account in a collection are limited, also after a restart, and other accounts get theirs`()
        async throws
    {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.tuning.compositeMinimum = 20
        configuration.accountLimits.compositeIndexes = 2
        var store = try await temporary.open(configuration)
        let fields = Dictionary(uniqueKeysWithValues: (0..<6).map { ("f\($0)", Value.integer($0)) })
        for first in stride(from: 0, to: 1200, by: 100) {
            let writes = try (first..<first + 100).map { number in
                Write(.update(try name(number), fields: fields.merging(["user": .integer(1)]) { $1 }))
            }
            _ = try await store.commit(writes)
        }
        func query(_ field: Int) -> Query {
            var query = Self.mixed
            query.orders = [Query.Order(FieldPath(key: "f\(field)"))]
            return query
        }
        for field in 0..<2 { try await plan(query(field), in: store, for: "bob", contains: "f\(field) ASC") }
        for restart in [false, true] {
            if restart {
                await store.close()
                store = try await temporary.open(configuration)
            }
            _ = try await found(query(4), in: store, for: "bob")
            _ = try await store.plan(query(4), for: "bob")
            // Suggestions are processed in order.
            try await plan(query(restart ? 3 : 2), in: store, for: "alice", contains: "f\(restart ? 3 : 2) ASC")
            #expect(try await store.plan(query(4), for: "bob").map(\.properties) == ["(user ASC, __name__ ASC)"])
        }
        try await plan(query(4), in: store, contains: "f4 ASC")
        #expect(try await store.check() == [])
        await store.close()
    }

    private static let exempt = Set([IndexExemption(collectionID: "a", field: "parts")])

    private func write(_ number: Int, parts: Int) throws -> Write {
        let parts = (0..<parts).map { ("\(number)-\($0)", Value.map(["size": .integer(Int64($0))])) }
        let fields: [String: Value] = [
            "n": .integer(Int64(number)), "parts": .map(Dictionary(uniqueKeysWithValues: parts)),
        ]
        return Write(.update(try name(number), fields: fields))
    }

    @Test func `an exempt field has no entries, and is found all the same`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.indexExemptions = Self.exempt
        var store = try await temporary.open(configuration)
        _ = try await store.commit([try write(1, parts: 20_001), try write(2, parts: 3), try write(3, parts: 0)])
        let size = try FieldPath(["parts", "2-1", "size"])
        let root = ParentName(TemporaryStore.database)
        let queries = [
            (Query(parent: root, collectionID: "a", filter: .field(size, .equal, .integer(1))), ["2"]),
            (Query(parent: root, collectionID: "a", orders: [Query.Order(size)]), ["2"]),
            (Query(parent: root, collectionID: "a", filter: .field(size, .lessThan, .integer(1))), []),
            (Query(parent: root, collectionID: "a", orders: [Query.Order(FieldPath(key: "n"))]), ["1", "2", "3"]),
        ]
        for (query, wanted) in queries { #expect(try await found(query, in: store) == wanted) }
        #expect(try await store.plan(queries[0].0).map(\.properties) == ["(__name__ ASC)"])
        #expect(try await store.plan(queries[3].0).map(\.properties) == ["(n ASC, __name__ ASC)"])
        #expect(try await store.check() == [])
        await store.close()
        // A configuration without exemptions leaves them unchanged.
        store = try await temporary.open()
        #expect(try await store.plan(queries[0].0).map(\.properties) == ["(__name__ ASC)"])
        await store.close()
    }

    @Test(arguments: [0, 100_000])
    func `fields become exempt, and are indexed again, after a crash, too`(batch: Int) async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.indexBatch = batch
        configuration.tuning.compositeMinimum = 0
        let store = try await temporary.open(configuration)
        for number in 0..<20 { _ = try await store.commit([try write(number, parts: number)]) }
        _ = try await store.commit([try write(3, parts: 5), Write(.delete(try name(4)))])
        // A copy as a crashed process leaves it: some entries are only in the log.
        var path = temporary.directory + "/copy.db"
        try await store.backUp(to: path)
        await store.close()
        let size = try FieldPath(["parts", "3-4", "size"])
        let query = Query(
            parent: ParentName(TemporaryStore.database), collectionID: "a",
            filter: .field(size, .equal, .integer(4)))
        for (exempt, plan) in [(Self.exempt, "(__name__ ASC)"), ([], "(parts.`3-4`.size ASC, __name__ ASC)")] {
            configuration.indexExemptions = exempt
            let copy = try await SQLiteDocumentStore(TemporaryStore.database, path: path, configuration: configuration)
            #expect(try await copy.check() == [])
            #expect(try await copy.plan(query).map(\.properties) == [plan])
            #expect(try await found(query, in: copy) == ["3"])
            _ = try await copy.commit([try write(5, parts: 2), try write(exempt.isEmpty ? 30 : 31, parts: 1)])
            #expect(try await copy.check() == [])
            path = temporary.directory + "/copy\(exempt.count).db"
            try await copy.backUp(to: path)
            await copy.close()
        }
    }

    /// Returns the results, and the number of entries that were read to find them.
    private func work(_ query: Query, in store: SQLiteDocumentStore) async throws -> (found: [String], entries: Int) {
        var documents = try await store.query(query).documents.makeAsyncIterator()
        var found: [String] = []
        while let document = try await documents.next() { found.append(document.name.path) }
        return (found, documents.statistics.entriesScanned)
    }

    @Test func `alternatives and collection groups with a limit are read side by side`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.tuning.compositeMinimum = 20
        let store = try await temporary.open(configuration)
        for first in stride(from: 0, to: 1500, by: 100) {
            _ = try await store.commit(
                try (first..<first + 100).map { number in
                    let name = try DocumentName(
                        database: TemporaryStore.database, path: "p/\(number % 5)/a/\(10_000 + number)")
                    return Write(
                        .update(
                            name,
                            fields: ["user": .integer(Int64(number % 3)), "n": .integer(Int64(number * 7 % 1500))]))
                })
        }
        let user = FieldPath(key: "user")
        let n = FieldPath(key: "n")
        let two = Query.Filter.field(user, .in, .array([.integer(0), .integer(2)]))
        let parent = ParentName(try DocumentName(database: TemporaryStore.database, path: "p/1"))
        let root = ParentName(TemporaryStore.database)
        let forms: [(query: Query, entries: Int)] = [
            // Ordered by name: the entries of both users are in that order.
            (Query(parent: parent, collectionID: "a", filter: two, limit: 5), 20),
            (Query(parent: root, collectionID: "a", allDescendants: true, limit: 5), 45),
            (
                Query(
                    parent: root, collectionID: "a", allDescendants: true, filter: two,
                    orders: [Query.Order(.documentName, descending: true)], limit: 5), 85
            ),
            // Ordered by one field.
            (
                Query(
                    parent: root, collectionID: "a", allDescendants: true,
                    filter: .or([.field(n, .lessThan, .integer(3)), .field(n, .greaterThan, .integer(900))]),
                    orders: [Query.Order(n, descending: true)], limit: 5), 70
            ),
            // With composite indexes.
            (
                Query(
                    parent: parent, collectionID: "a", filter: two, orders: [Query.Order(n, descending: true)], limit: 5
                ),
                20
            ),
            (
                Query(
                    parent: root, collectionID: "a", allDescendants: true,
                    filter: .and([
                        .field(user, .equal, .integer(1)), .field(n, .greaterThan, .integer(100)),
                    ]), limit: 5), 45
            ),
        ]
        let reference = MemoryDocumentStore(TemporaryStore.database)
        for try await document in try await store.query(
            Query(parent: root, collectionID: nil, allDescendants: true)
        ).documents {
            _ = try await reference.commit([
                Write(.update(document.name, fields: try document.fields.decoded()))
            ])
        }
        for (query, entries) in forms {
            var wanted: [String] = []
            for try await document in try await reference.query(query).documents { wanted.append(document.name.path) }
            #expect(wanted.count == 5)
            while true {
                let (found, scanned) = try await work(query, in: store)
                try #require(found == wanted, "\(query)")
                // Repeats the query until its indexes exist.
                if scanned <= entries { break }
            }
            var all = query
            all.limit = nil
            var wantedAll: [String] = []
            for try await document in try await reference.query(all).documents { wantedAll.append(document.name.path) }
            #expect(try await work(all, in: store).found == wantedAll)
        }
        #expect(try await store.check() == [])
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
        #expect(try temporary.file.check().count == 1)
        try sqlite.execute("INSERT INTO \(table) VALUES(x'01017777', 1), (x'01017778', 1)")
        sqlite.close()
        #expect(try temporary.file.check().count == 1)
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
