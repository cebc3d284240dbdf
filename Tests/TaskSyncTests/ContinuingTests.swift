import DocumentClient
import DocumentStore
import Glibc
import ObjectStorage
import SystemIO
import TaskModel
import Testing

@testable import TaskSync

/// Files that look new, and are those of tasks that exist already.
@Suite(.serialized) struct ContinuingTests {
    /// A task with an attachment that both machines have.
    private func withTask(_ body: (_ laptop: Machine, _ desk: Machine, _ task: TaskID) async throws -> Void)
        async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Plan.md", "---\npriority: high\n---\nthe plan\n")
            try laptop.write("Plan.files/a.txt", "an attachment")
            #expect(await desk.has("Plan.files/a.txt", "an attachment"))
            #expect(await desk.has("Plan.md", "---\npriority: high\n---\nthe plan\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            try await body(laptop, desk, try #require(await laptop.sync.task(atPath: "Plan.md")))
            for machine in [laptop, desk] {
                #expect(await machine.eventually { await machine.sync.catalog.living.map(\.id) == [task(of: machine)] })
            }
        }
    }

    private func task(of machine: Machine) async -> TaskID? { await machine.sync.catalog.living.map(\.id).first }

    @Test func `a file that is copied and removed at once has moved, with its attachments`() async throws {
        try await withTask { laptop, desk, task in
            try laptop.write("Tour.md", "---\npriority: high\n---\nthe plan\n")
            #expect(await laptop.eventually { await laptop.sync.task(atPath: "Tour.md") != nil })
            laptop.remove("Plan.md")
            for machine in [laptop, desk] {
                #expect(await machine.has("Tour.files/a.txt", "an attachment"))
                #expect(await machine.lacks("Plan.md"))
                #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Tour.md" })
                #expect(await machine.sync.catalog.trashed.isEmpty)
            }
            #expect(try await desk.sync.detail(task).item.title == "Tour")
        }
    }

    @Test func `a copy that a command has changed meanwhile stays a task of its own`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Plan.md", "the plan\n")
            #expect(await desk.has("Plan.md", "the plan\n"))
            try laptop.write("Tour.md", "the plan\n")
            #expect(await laptop.eventually { await laptop.sync.task(atPath: "Tour.md") != nil })
            let copy = try #require(await laptop.sync.task(atPath: "Tour.md"))
            await laptop.sync.setPaused(true)
            var edit = TaskEdit()
            edit.isCompleted = true
            try await laptop.sync.edit(copy, edit)
            laptop.remove("Plan.md")
            #expect(await laptop.eventually { await laptop.sync.task(atPath: "Plan.md") == nil })
            await laptop.sync.setPaused(false)
            for machine in [laptop, desk] {
                #expect(await machine.has("Tour.md", "---\ncompleted: true\n---\nthe plan\n"))
                #expect(await machine.lacks("Plan.md"))
            }
        }
    }

    @Test func `a save under another task file's name that is renamed over the old one is an edit`() async throws {
        try await withTask { laptop, desk, task in
            try laptop.write("new.md", "the plan\nand more\n")
            #expect(await desk.has("new.md", "the plan\nand more\n"))
            laptop.rename("new.md", to: "Plan.md")
            #expect(await desk.has("Plan.md", "the plan\nand more\n"))
            #expect(await desk.lacks("new.md"))
            for machine in [laptop, desk] {
                #expect(await machine.has("Plan.files/a.txt", "an attachment"))
                #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Plan.md" })
                #expect(await machine.sync.catalog.trashed.isEmpty)
            }
            #expect(try await desk.sync.detail(task).item.priority == nil)
        }
    }

    @Test func `a new file that gets the name of a deleted one stays a task of its own`() async throws {
        try await withTask { laptop, desk, task in
            try laptop.write("new.md", "the plan\nand more\n")
            #expect(await desk.has("new.md", "the plan\nand more\n"))
            let new = try #require(await laptop.sync.task(atPath: "new.md"))
            laptop.remove("Plan.md")
            laptop.rename("new.md", to: "Plan.md")
            #expect(await desk.lacks("new.md"))
            for machine in [laptop, desk] {
                #expect(await machine.has("Plan.md", "the plan\nand more\n"))
                #expect(await machine.lacks("Plan.files/a.txt"))
                #expect(await machine.eventually { await machine.sync.path(ofTask: new) == "Plan.md" })
                #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.id) == [task] })
            }
        }
    }

    @Test(arguments: [false, true])
    func `a file that is made again minutes after its delete goes on with its attachments`(isBack: Bool) async throws {
        try await withTask { laptop, desk, task in
            laptop.remove("Plan.md")
            #expect(await desk.lacks("Plan.md"))
            #expect(await laptop.eventually { access(laptop.path("Plan.files"), F_OK) != 0 })
            let text = isBack ? "---\npriority: high\n---\nthe plan\n" : "---\ntags: [x]\n---\nanother text\n"
            try laptop.write("Plan.md", text)
            for machine in [desk, laptop] {
                #expect(await machine.has("Plan.md", text))
                #expect(await machine.has("Plan.files/a.txt", "an attachment"))
                #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Plan.md" })
            }
            // What the file said before is not lost, and nobody is asked about it.
            if !isBack { #expect(await desk.hasDisplaced("the plan\n")) }
            #expect(try await desk.sync.conflicts().isEmpty)
        }
    }

    @Test func `a file that went before its list was renamed, and is back with the old name, goes on`() async throws {
        try await withMachines { laptop, desk in
            for name in ["Work/a.md", "Work/b.md"] {
                try laptop.write(name, "the text of \(name)\n")
                #expect(await desk.has(name, "the text of \(name)\n"))
            }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            let tasks = Set(await laptop.sync.catalog.living.map(\.id))
            // As a branch without the file whose directory has another name, and back again.
            laptop.remove("Work/a.md")
            laptop.rename("Work", to: "Office")
            #expect(await desk.lacks("Work/a.md"))
            #expect(await desk.has("Office/b.md", "the text of Work/b.md\n"))
            #expect(await laptop.eventually { await laptop.sync.catalog.trashed.count == 1 })
            laptop.remove("Office/b.md")
            rmdir(laptop.path("Office"))
            for name in ["Work/a.md", "Work/b.md"] { try laptop.write(name, "the text of \(name)\n") }
            for machine in [desk, laptop] {
                for name in ["Work/a.md", "Work/b.md"] { #expect(await machine.has(name, "the text of \(name)\n")) }
                #expect(await machine.eventually { await Set(machine.sync.catalog.living.map(\.id)) == tasks })
            }
        }
    }

    @Test func `files that change names in a circle keep their attachments`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            for name in ["A", "B", "C", "D"] {
                try laptop.write("\(name).md", "text of \(name)\n")
                try laptop.write("\(name).files/a.txt", "attachment of \(name)")
            }
            for name in ["A", "B", "C", "D"] { #expect(await desk.has("\(name).files/a.txt", "attachment of \(name)")) }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            laptop.rename("A.md", to: "third.md")
            laptop.rename("B.md", to: "A.md")
            laptop.rename("C.md", to: "B.md")
            laptop.rename("third.md", to: "C.md")
            // These are moved with theirs, so that they must not be moved again.
            for (name, other) in [("D", "E"), ("C", "D")] { laptop.rename("\(name).md", to: "\(other).md") }
            for (name, old) in [("A", "B"), ("B", "C"), ("D", "A"), ("E", "D")] {
                for machine in [laptop, desk] {
                    #expect(await machine.has("\(name).md", "text of \(old)\n"))
                    #expect(await machine.has("\(name).files/a.txt", "attachment of \(old)"))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `files that are exchanged while the daemon is off keep their attachments, wherever these are`(
        areMoved: Bool
    ) async throws {
        let (store, objects) = (MemoryDocumentStore(Machine.database), MemoryObjectStore())
        let before = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects)
        for name in ["A", "B"] { try before.write("\(name).md", "text of \(name)\n") }
        try before.write("A.files/a.txt", "attachment of A")
        #expect(await desk.has("A.files/a.txt", "attachment of A"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        before.rename("A.md", to: "third.md")
        before.rename("B.md", to: "A.md")
        before.rename("third.md", to: "B.md")
        if areMoved { before.rename("A.files", to: "B.files") }
        let laptop = try await Machine(store, objects: objects, home: before.home)
        for machine in [laptop, desk] {
            #expect(await machine.has("B.md", "text of A\n"))
            #expect(await machine.has("B.files/a.txt", "attachment of A"))
            #expect(await machine.eventually { access(machine.path("A.files"), F_OK) != 0 })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a directory in the place of a task's file is reported, and the task stays`() async throws {
        try await withTask { laptop, desk, task in
            laptop.rename("Plan.md", to: "other.md")
            mkdir(laptop.path("Plan.md"), 0o700)
            laptop.rename("other.md", to: "Plan.md/Plan.md")
            #expect(
                await laptop.eventually {
                    await Set(laptop.sync.allProblems.map(\.code)).isSuperset(of: [
                        "wrong-kind", "directory-named-as-task",
                    ])
                })
            #expect(desk.read("Plan.md") == "---\npriority: high\n---\nthe plan\n")
            laptop.rename("Plan.md/Plan.md", to: "other.md")
            rmdir(laptop.path("Plan.md"))
            laptop.rename("other.md", to: "Plan.md")
            #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
            #expect(await laptop.sync.task(atPath: "Plan.md") == task)
        }
    }

    @Test func `a file in the place of a list's directory stays on its machine`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Diary/Monday.md", "sun\n")
            #expect(await desk.has("Diary/Monday.md", "sun\n"))
            laptop.rename("Diary/Monday.md", to: "Monday.md")
            rmdir(laptop.path("Diary"))
            try laptop.write("Diary", "private\n")
            #expect(await desk.has("Monday.md", "sun\n"))
            #expect(await desk.eventually { access(desk.path("Diary"), F_OK) != 0 })
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            #expect(await laptop.sync.catalog.living.map(\.title) == ["Monday"])
            #expect(laptop.read("Diary") == "private\n")
        }
    }
}
