import DocumentStore
import Glibc
import TaskModel
import Testing

@testable import DocumentClient
@testable import TaskSync

/// Files that go back to older versions, as when an old backup is copied over the tasks directory.
@Suite(.serialized) struct RevertTests {
    private static let old = "- [ ] one\n"
    private static let new = "- [x] one\n- [ ] two\n"

    /// A number of tasks that both machines have in their second version.
    private func withTasks(_ count: Int, _ body: (Machine, Machine) async throws -> Void) async throws {
        try await withMachines { laptop, desk in
            for text in [Self.old, Self.new] {
                try write(text, count, laptop)
                #expect(await all(text, count, desk))
                #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            }
            try await body(laptop, desk)
        }
    }

    /// Writes that many files, whose writers end together: the first one would be read alone if this thread had to
    /// wait between two of them.
    private func write(_ text: String, _ count: Int, _ machine: Machine) throws {
        for number in 0..<count where machine.read("Task \(number).md") == nil {
            try machine.write("Task \(number).md", text)
        }
        var files: [UnsafeMutablePointer<FILE>] = []
        defer { for file in files { fclose(file) } }
        for number in 0..<count {
            let file = try #require(fopen(machine.path("Task \(number).md"), "w"))
            files.append(file)
            fputs(text, file)
            fflush(file)
        }
    }

    private func all(_ text: String, _ count: Int, _ machine: Machine) async -> Bool {
        await machine.eventually { (0..<count).allSatisfy { machine.read("Task \($0).md") == text } }
    }

    @Test func `many reverts are held, and approved or undone`() async throws {
        try await withTasks(14) { laptop, desk in
            try write(Self.old, 14, laptop)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count(where: \.isRevert) == 14 })
            #expect(await all(Self.new, 14, desk))
            let held = await laptop.sync.heldDeletes.map(\.entry)
            try await laptop.sync.approveDeletes(held.filter { $0.title == "Task 3" }.map(\.id))
            #expect(await desk.has("Task 3.md", Self.old))
            try await laptop.sync.restoreDeletes(held.filter { $0.title != "Task 3" }.map(\.id))
            for machine in [laptop, desk] {
                #expect(await machine.has("Task 3.md", Self.old))
                #expect(
                    await machine.eventually {
                        (0..<14).allSatisfy { $0 == 3 || machine.read("Task \($0).md") == Self.new }
                    })
            }
            #expect(await laptop.sync.heldDeletes.isEmpty)
            #expect(await laptop.hasUnited(14))
        }
    }

    @Test func `files that come forward again, or are edited, are held no more`() async throws {
        try await withTasks(12) { laptop, desk in
            try write(Self.old, 12, laptop)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            let commits = laptop.commitCount
            for number in 1..<12 { try laptop.write("Task \(number).md", Self.new) }
            try laptop.write("Task 0.md", "\(Self.old)more\n")
            #expect(await desk.has("Task 0.md", "\(Self.old)more\n"))
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.isEmpty })
            #expect(laptop.commitCount == commits + 1)
        }
    }

    @Test func `reverts that are made while the daemon is off are held, and stay held after a restart`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let before = try await Machine(store)
        for text in [Self.old, Self.new] {
            try write(text, 12, before)
            #expect(await before.eventually { await before.sync.catalog.living.contains { $0.isPending } == false })
            #expect(await before.eventually { (try? await before.isInStep(12, text)) == true })
        }
        await before.stop()
        try write(Self.old, 12, before)
        for _ in 0..<2 {
            let laptop = try await Machine(store, home: before.home)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            #expect(laptop.commitCount == 0)
            await laptop.stop()
        }
    }

    @Test func `a change from elsewhere meets a held revert when that is decided`() async throws {
        try await withTasks(12) { laptop, desk in
            try write(Self.old, 12, laptop)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            try desk.write("Task 0.md", "\(Self.new)three\n")
            #expect(
                try await laptop.eventually {
                    guard let task = await laptop.sync.task(atPath: "Task 0.md") else { return false }
                    return try await laptop.sync.detail(task).item.notes == "\(Self.new)three\n"
                })
            #expect(laptop.read("Task 0.md") == Self.old)
            try await laptop.sync.restoreDeletes(laptop.sync.heldDeletes.map(\.entry.id))
            #expect(await laptop.has("Task 0.md", "\(Self.new)three\n"))
            #expect(await laptop.has("Task 1.md", Self.new))
        }
    }

    @Test func `ten reverts are edits`() async throws {
        try await withTasks(10) { laptop, desk in
            try write(Self.old, 10, laptop)
            #expect(await all(Self.old, 10, desk))
            #expect(await laptop.sync.heldDeletes.isEmpty)
        }
    }
}

extension Machine {
    /// Whether it has sent that so many tasks say this.
    fileprivate func isInStep(_ count: Int, _ notes: String) async throws -> Bool {
        guard try await client.pendingMutations().isEmpty else { return false }
        let tasks = await sync.catalog.living.map(\.id)
        for task in tasks where try await sync.detail(task).item.notes != notes { return false }
        return tasks.count == count
    }
}
