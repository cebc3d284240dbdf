import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

/// The costs of typing, with 10,000 documents. The figures are for release builds; these tests print
/// them and fail only for a difference of kind.
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
        let reading = try await clock.measure { _ = try await tasks.all.get(.cache) }
        var snapshots = tasks.all.snapshots.makeAsyncIterator()
        #expect(try await snapshots.next()?.count == 10_000)
        var times: [Duration] = []
        for number in 0..<20 {
            try await tasks["t\(number)"].update { $0.isDone = true }
            let start = clock.now
            #expect(try await snapshots.next()?.modifications.count == 1)
            times.append(clock.now - start)
        }
        print("10,000 documents read and decoded: \(reading); after a change of one: \(times.sorted()[10])")
        // Without reuse of what was decoded, each change would cost as much as the first reading.
        #expect(times.sorted()[10] < reading / 4)
        await ferry.close()
    }
}
