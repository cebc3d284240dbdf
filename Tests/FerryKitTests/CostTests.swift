import DocumentClient
import DocumentCoding
import DocumentModel
import FerryKit
import FerryKitTestSupport
import Foundation
import Synchronization
import Testing

/// A document that counts how often one of its kind was decoded.
private struct Counted: DocumentModel, Equatable {
    static let collection = "counted"
    static let decodings = Mutex(0)
    enum CodingKeys: String, CodingKey { case number }
    var number: Int

    init(number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
        Self.decodings.withLock { $0 += 1 }
        number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
    }
}

/// The costs of typing. The times are for release builds and are printed only.
@Suite(.timeLimit(.minutes(2))) struct CostTests {
    @Test func `a change of one document of many is cheap`() async throws {
        let server = MemoryServer()
        let directories = Directories()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        server.setOffline(true)
        try await ferry.batch { batch in
            for number in 0..<10_000 {
                batch.set(
                    Item(title: "t\(number)", tags: ["a", "b"], views: number, userId: user.id),
                    tasks["t\(number)"])
            }
        }
        let clock = ContinuousClock()
        var typed: [Duration] = []
        for _ in 0..<5 { typed.append(try await clock.measure { _ = try await tasks.all.get(.cache) }) }
        let reading = typed.sorted()[2]
        var snapshots = tasks.all.snapshots.makeAsyncIterator()
        #expect(try await snapshots.next()?.count == 10_000)
        var times: [Duration] = []
        for number in 0..<20 {
            try await tasks["t\(number)"].update { $0.isDone = true }
            let start = clock.now
            #expect(try await snapshots.next()?.modifications.count == 1)
            times.append(clock.now - start)
        }
        await ferry.close()
        let untyped = try await untypedReading(directories["machine"].appending(path: "user-\(user.id)/documents"))
        print(
            "10,000 documents read and decoded: \(reading), untyped \(untyped), ratio \(reading / untyped); "
                + "after a change of one: \(times.sorted()[10])")
    }

    @Test func `a change of one document decodes that one alone`() async throws {
        let (ferry, _) = try await openMachine(.memory(MemoryServer()), Directories())
        let all = ferry.collection(Counted.self)
        try await ferry.batch { batch in for number in 0..<100 { batch.set(Counted(number: number), all["n\(number)"]) }
        }
        try await ferry.waitForPendingWrites()
        var snapshots = all.all.snapshots.makeAsyncIterator()
        #expect(try await snapshots.next()?.count == 100)
        let before = Counted.decodings.withLock { $0 }
        for number in 0..<3 {
            try await all["n\(number)"].set(Counted(number: 1000))
            while let snapshot = try await snapshots.next(), snapshot.modifications.isEmpty {}
        }
        // Each change and the server's version of it, where all documents would be 100 for each snapshot.
        #expect(Counted.decodings.withLock { $0 } - before <= 6)
        await ferry.close()
    }

    /// The time of the same read without types.
    private func untypedReading(_ path: URL) async throws -> Duration {
        let database = DatabaseName(project: "memory")
        let client = try DocumentDatabase(path: path.path, database: database, remote: ServedRemote())
        let query = DatabaseQuery(parent: ParentName(database), collectionID: Item.collection)
        var times: [Duration] = []
        for _ in 0..<5 {
            times.append(
                try await ContinuousClock().measure {
                    let found = try await client.documents(query)
                    #expect(found.count == 10_000 && found.allSatisfy { !$0.fields.isEmpty })
                })
        }
        await client.close()
        return times.sorted()[2]
    }
}
