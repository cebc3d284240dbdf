import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

/// Everything at once, for the thread sanitizer. `FERRY_STRESS` is the number of operations of each task.
@Suite(.timeLimit(.minutes(30))) struct StressTests {
    @Test func `eight tasks use one Ferry at once`() async throws {
        let server = MemoryServer()
        let directories = Directories()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        let shared = try await tasks.add(Item(title: "shared", userId: user.id))
        let operations = ProcessInfo.processInfo.environment["FERRY_STRESS"].flatMap { Int($0) } ?? 200

        let watching = Task {
            var last = 0
            for try await snapshot in tasks.all.snapshots { last = max(last, snapshot.count) }
            return last
        }
        let live = await LiveQuery(tasks.where { $0.isDone == false }.limit(10))
        let counts = try await withThrowingTaskGroup(of: (increments: Int, added: Int).self) { group in
            for number in 0..<8 {
                group.addTask {
                    var (increments, added) = (0, 0)
                    var mine: [Reference<Item>] = []
                    for step in 0..<operations {
                        switch step % 20 {
                        case 0:
                            try await shared.update { $0.increment(\.views, by: 1) }
                            increments += 1
                        case 1:
                            try await ferry.batch { batch in
                                let item = Item(title: "\(number) \(step)", tags: ["a"], userId: user.id)
                                mine.append(batch.add(item, to: tasks))
                                batch.update(shared) { $0.union(\.tags, ["\(number)"]) }
                            }
                            added += 1
                        case 2 where mine.count > 20:
                            try await mine.removeFirst().delete()
                            added -= 1
                        case 3:
                            guard var copy = try await shared.get(.cache) else { continue }
                            copy.detail.notes += "\(number)\n"
                            if step % 200 == 3 { try await copy.save() }
                        case 4, 5: _ = try await tasks.all.order(by: \.title).limit(5).get(.cache)
                        case 6:
                            if number == 0, step % 100 == 6 {
                                server.setOffline(step % 200 == 6)
                                await ferry.networkChanged()
                            }
                        case 7: _ = ferry.status
                        case 8: _ = await ferry.account.user
                        case 9 where step % 200 == 9:
                            try await shared.attachment(\.photo).attach(Data("\(number) \(step)".utf8), name: "a.txt")
                        default: _ = try await (mine.randomElement() ?? shared).cached
                        }
                    }
                    return (increments, added)
                }
            }
            return try await group.reduce((0, 0)) { ($0.0 + $1.increments, $0.1 + $1.added) }
        }
        server.setOffline(false)
        await ferry.networkChanged()
        try await ferry.waitForPendingWrites()
        #expect(try await shared.get(.server)?.views == counts.0)
        #expect(try await tasks.all.get(.server).count == counts.1 + 1)
        #expect(try await ferry.refusals.isEmpty)
        #expect(await live.problem == nil)
        await ferry.close()
        #expect(try await watching.value > 0)
    }
}
