import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct DocumentTests {
    let server = MemoryServer()
    let directories = Directories()

    @Test func `a document is added, read, changed and deleted`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        let milk = try await tasks.add(Item(title: "Milk", userId: user.id))
        let found = try #require(try await milk.get())
        #expect(found.title == "Milk" && found.createdTime == .pending && found.state == .pending)
        try await ferry.waitForPendingWrites()
        let there = try #require(try await milk.get(.server))
        #expect(there.state == .ordered && there.createdTime.date != nil && there.updateTime != nil)
        try await milk.update {
            $0.isDone = true
            $0.increment(\.views, by: 2)
            $0.union(\.tags, ["a", "b"])
            $0.subtract(\.tags, ["a"])
            $0.priority = nil
            $0.raise(\.views, toAtLeast: 5)
        }
        let changed = try #require(try await milk.get())
        #expect(changed.isDone && changed.views == 5 && changed.tags == ["b"] && changed.priority == nil)
        let time = try await milk.update { $0.detail.notes = "x" }.ordered()
        #expect(try await milk.get(.server)?.updateTime == time)
        try await milk.delete().ordered()
        #expect(try await milk.get() == nil)
        #expect(server.paths.allSatisfy { !$0.hasPrefix("tasks/") })
        await ferry.close()
    }

    @Test func `an update of a nested field keeps its siblings`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let due = Date(timeIntervalSince1970: 1_000_000)
        let milk = try await ferry.collection(Item.self).add(
            Item(title: "Milk", detail: .init(notes: "n", due: due), userId: user.id))
        try await milk.update { $0.detail.notes = "changed" }
        #expect(try await milk.get()?.detail == Item.Detail(notes: "changed", due: due))
        try await milk.update { $0.remove(\.detail.due) }
        #expect(try await milk.get()?.detail == Item.Detail(notes: "changed"))
        try await milk.update { $0.set(\.detail.due, to: due) }
        #expect(try await milk.get()?.detail == Item.Detail(notes: "changed", due: due))
        await ferry.close()
    }

    @Test func `a copy is edited and merged with what others changed`() async throws {
        let (one, user) = try await openMachine(.memory(server), directories, "one")
        let milk = try await one.collection(Item.self).add(
            Item(title: "Milk", tags: ["a"], detail: .init(notes: "first\nsecond\nthird\n"), userId: user.id))
        try await one.waitForPendingWrites()
        var mine = try #require(try await milk.get())
        let two = try await Ferry.open(.memory(server), state: directories["two"], models: [Item.self])
        try await two.account.signInAnonymously()
        let theirs = try two.reference(to: milk.path, as: Item.self)
        try await theirs.update {
            $0.detail.notes = "FIRST\nsecond\nthird\n"
            $0.title = "Oat milk"
            $0.tags = ["a", "b"]
        }.ordered()
        _ = try await milk.get(.server)
        // The copy is older than what this machine knows by now.
        mine.detail.notes = "first\nsecond\nTHIRD\n"
        mine.tags = ["a", "c"]
        mine.isDone = true
        try await mine.save().ordered()
        let merged = try #require(try await theirs.get(.server))
        #expect(merged.title == "Oat milk" && merged.isDone)
        #expect(merged.detail.notes == "FIRST\nsecond\nTHIRD\n")
        #expect(Set(merged.tags) == ["a", "b", "c"])
        await one.close()
        await two.close()
    }

    @Test func `fields that the model does not have survive a save`() async throws {
        struct Narrow: DocumentModel {
            static let collection = "tasks"
            var title: String
        }
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", tags: ["x"], userId: user.id))
        var narrow = try #require(try await ferry.reference(to: milk.path, as: Narrow.self).get())
        narrow.title = "Bread"
        try await narrow.save()
        #expect(try await milk.get().map { [$0.title] + $0.tags } == ["Bread", "x"])
        await ferry.close()
    }

    @Test func `a reference in a document can be used`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let list = try await ferry.collection(TaskList.self).add(TaskList(name: "Errands", userId: user.id))
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", listId: list, userId: user.id))
        #expect(try await milk.get()?.listId?.get()?.name == "Errands")
        let text = try JSONEncoder().encode(list)
        let decoded = try JSONDecoder().decode(Reference<TaskList>.self, from: text)
        #expect(decoded == list)
        await #expect(throws: FerryError.self) { try await decoded.get() }
        await ferry.close()
    }

    @Test func `writes work offline and survive the program`() async throws {
        var (ferry, user) = try await openMachine(.memory(server), directories)
        server.setOffline(true)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        try await milk.update { $0.increment(\.views, by: 1) }
        await ferry.close()
        server.setOffline(false)
        ferry = try await Ferry.open(.memory(server), state: directories["machine"], models: [Item.self])
        #expect(await ferry.account.user == user)
        try await ferry.waitForPendingWrites()
        #expect(try await ferry.reference(to: milk.path, as: Item.self).get(.server)?.views == 1)
        await ferry.close()
    }

    @Test func `an increment whose answer is lost counts once`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        try await ferry.waitForPendingWrites()
        server.loseAnswers(true)
        let before = server.commitCount
        let write = try await milk.update { $0.increment(\.views, by: 1) }
        for await _ in ferry.statuses where server.commitCount > before { break }
        server.loseAnswers(false)
        // Another machine hides the trace that the increment left in the document.
        let two = try await Ferry.open(.memory(server), state: directories["two"])
        try await two.account.signInAnonymously()
        try await two.reference(to: milk.path, as: Item.self).update { $0.increment(\.views, by: 10) }.ordered()
        await ferry.networkChanged()
        try await write.ordered()
        #expect(try await milk.get(.server)?.views == 11)
        await ferry.close()
        await two.close()
    }

    @Test func `a refused write says why, and is retried or discarded`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        server.refuseWrites { $0.hasPrefix("tasks/") }
        let milk = ferry.collection(Item.self)["milk"]
        let write = try await milk.set(Item(title: "Milk", userId: user.id))
        let error = await #expect(throws: FerryError.self) { try await write.ordered() }
        #expect(error?.code == .rejected && error?.message.contains("refused") == true)
        #expect(try await milk.get()?.state == .refused)
        let refusal = try #require(try await ferry.refusals.first)
        #expect(refusal.path == "tasks/milk")
        server.refuseWrites { _ in false }
        try await refusal.retry()
        try await ferry.waitForPendingWrites()
        #expect(try await milk.get(.server)?.state == .ordered)
        server.refuseWrites { _ in true }
        try await milk.update { $0.title = "Bread" }
        for await status in ferry.statuses where status.refused == 1 { break }
        try await ferry.refusals.first?.discard()
        #expect(try await milk.get()?.title == "Milk")
        await ferry.close()
    }

    @Test func `a batch takes effect as one`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        let milk = try await tasks.add(Item(title: "Milk", userId: user.id))
        let list = try await ferry.batch { batch in
            let list = batch.add(TaskList(name: "Errands", userId: user.id), to: ferry.collection())
            batch.update(milk) { $0.listId = list }
            batch.add(Subtask(name: "rye", userId: user.id), to: milk.collection())
        }
        try await list.ordered()
        #expect(server.paths.filter { !$0.hasPrefix("receipts") }.count == 3)
        server.refuseWrites { $0 == "tasks/bad" }
        let both = try await ferry.batch { batch in
            batch.set(Item(title: "a", userId: user.id), tasks["good"])
            batch.set(Item(title: "b", userId: user.id), tasks["bad"])
        }
        await #expect(throws: FerryError.self) { try await both.ordered() }
        #expect(!server.paths.contains("tasks/good"))
        await ferry.close()
    }

    @Test func `a transaction is based on what it read`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        try await ferry.waitForPendingWrites()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await ferry.transaction { transaction in
                        guard let item = try await transaction.get(milk) else { return -1 }
                        try transaction.write { $0.update(milk) { $0.views = item.views + 1 } }
                        return item.views + 1
                    }
                }
            }
            var results: [Int] = []
            for try await result in group { results.append(result) }
            #expect(results.sorted() == [1, 2, 3])
        }
        #expect(try await milk.get(.server)?.views == 3)
        await ferry.close()
    }

    @Test func `a key path that is no field is an error that names it`() async throws {
        struct Odd: DocumentModel {
            static let collection = "odd"
            var name: String
            var constant: Int {
                get { 3 }
                set {}
            }
            enum CodingKeys: CodingKey { case name }
        }
        let (ferry, _) = try await openMachine(.memory(server), directories)
        let odd = try await ferry.collection(Odd.self).add(Odd(name: "a"))
        let error = await #expect(throws: FerryError.self) { try await odd.update { $0.constant = 4 } }
        #expect(error?.code == .invalid && error?.message.contains("Odd") == true)
        await ferry.close()
    }

    @Test func `a directory has one user at a time`() async throws {
        let (ferry, _) = try await openMachine(.memory(server), directories)
        let error = await #expect(throws: FerryError.self) {
            try await Ferry.open(.memory(server), state: directories["machine"])
        }
        #expect(error?.code == .inUse)
        await ferry.close()
        try await Ferry.open(.memory(server), state: directories["machine"]).close()
    }
}
