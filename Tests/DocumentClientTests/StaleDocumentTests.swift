import DocumentModel
import FerryKitTestSupport
import Testing

@testable import DocumentClient

/// Local documents that others have changed or deleted while this client did not watch them.
@Suite(.timeLimit(.minutes(1))) struct StaleDocumentTests {
    let remote = ServedRemote()
    let client: DocumentDatabase

    init() throws {
        client = try DocumentDatabase(path: ":memory:", database: testDatabase, remote: remote)
        try write((1...20).map { .set($0, to: $0) })
    }

    private enum Change {
        case set(Int, to: Int)
        case delete(Int)
    }

    /// Commits changes of others.
    private func write(_ changes: [Change]) throws {
        let writes = try changes.map { change in
            switch change {
            case .set(let id, let number):
                Write(.update(try task(id), fields: ["n": .integer(Int64(number))]))
            case .delete(let id): Write(.delete(try task(id)))
            }
        }
        _ = try remote.with { try $0.commit(writes) }
    }

    private func task(_ id: Int) throws -> DocumentName { try name("tasks/t\(id)") }

    private func query(descending: Bool = false, offset: Int32 = 0, limit: Int32? = nil) throws -> Query {
        var query = tasksQuery
        query.orders = [.init(try path("n"), descending: descending)]
        (query.offset, query.limit) = (offset, limit)
        return query
    }

    private func numbers(_ documents: [DocumentSnapshot]) -> [Int] {
        documents.map { Int($0["n"]?.integerValue ?? -1) }
    }

    private func read(descending: Bool = false, offset: Int32 = 0, limit: Int32? = nil) async throws -> [Int] {
        let query = try query(descending: descending, offset: offset, limit: limit)
        return numbers(try await RemoteReader(client).documents(query))
    }

    /// Returns the first results that agree with the remote.
    private func watched(limit: Int32?) async throws -> [Int] {
        for try await snapshot in client.snapshots(of: try query(limit: limit)) where !snapshot.isFromCache {
            return numbers(snapshot.documents)
        }
        return []
    }

    @Test func `take no places of a limit or an offset`() async throws {
        #expect(try await read().count == 20)
        try write([.delete(1), .delete(2), .set(3, to: 100), .delete(20)])
        #expect(try await read(limit: 10) == Array(4...13))
        #expect(try await read(offset: 2, limit: 5) == Array(6...10))
        #expect(try await read(offset: 12) == [16, 17, 18, 19, 100])
        #expect(try await read(descending: true, offset: 1, limit: 3) == [19, 18, 17])
        #expect(try await read(limit: 0).isEmpty)
    }

    @Test func `leave the places to local changes`() async throws {
        #expect(try await read().count == 20)
        try write([.delete(1), .delete(2)])
        _ = try await client.write([
            .delete(try task(4)), .set(try task(5), ["n": .integer(50)]),
            .set(try name("tasks/new"), ["n": .integer(0)]),
        ])
        #expect(try await read(limit: 5) == [0, 3, 6, 7, 8])
        #expect(try await read(offset: 1, limit: 3) == [3, 6, 7])
        #expect(try await read(descending: true, limit: 2) == [50, 20])
    }

    @Test func `leave the places to local changes however many there are`() async throws {
        for count in [1, 4, 7, 15, 20] {
            let client = try DocumentDatabase(path: ":memory:", database: testDatabase, remote: remote)
            _ = try await client.write(try (1...count).map { .delete(try task($0)) })
            for limit in [1, 3, 5, 20] as [Int32] {
                let found = try await RemoteReader(client).documents(try query(limit: limit))
                #expect(numbers(found) == Array((1...20).dropFirst(count).prefix(Int(limit))))
            }
            await client.close()
        }
    }

    @Test(arguments: [nil, 5, 30] as [Int32?])
    func `are not shown by a query that is watched`(limit: Int32?) async throws {
        #expect(try await read().count == 20)
        try write([.delete(1), .delete(2), .set(3, to: 100)])
        let all = Array(4...20) + [100]
        try await running(client) {
            let shown = try await watched(limit: limit)
            #expect(shown == Array(all.prefix(Int(limit ?? 30))))
        }
    }

    @Test func `are not shown after another query had them`() async throws {
        try await running(client) {
            let shown = try await watched(limit: nil)
            #expect(shown.count == 20)
        }
        try write([.delete(1), .delete(2)])
        try await running(client) {
            let shown = try await watched(limit: 15)
            #expect(shown == Array(3...17))
        }
    }
}
