import TaskModel
import Testing

@testable import TaskSync

@Suite struct AddingTests {
    private func edit(_ title: String, list: String? = nil, key: String? = nil) -> TaskEdit {
        var edit = TaskEdit()
        edit.title = title
        edit.listName = list
        edit.importKey = key
        return edit
    }

    private func code(_ result: Result<TaskID, any Error>) -> TaskSyncError.Code? {
        guard case .failure(let error as TaskSyncError) = result else { return nil }
        return error.code
    }

    @Test func `a task that cannot be added keeps no other from being added`() async throws {
        try await withMachines { laptop, desk in
            var broken = edit("Broken")
            broken.head = "---\na: [\n---\n"
            let edits = [
                edit("One", list: "Work"), edit(""), edit("Two", key: "k"), edit("Twice", key: "k"), broken,
                edit("Three", list: "work"),
            ]
            let results = try await laptop.sync.add(edits)
            #expect(results.map { (try? $0.get()) != nil } == [true, false, true, false, false, true])
            #expect(code(results[1]) == .invalid && code(results[3]) == .exists)
            for name in ["Work/One.md", "Two.md", "Work/Three.md"] {
                #expect(laptop.read(name) == "")
                #expect(await desk.has(name, ""))
            }
            #expect(await laptop.sync.catalog.count == 3)
            #expect(await laptop.sync.catalog.listNames.count == 1)
            #expect(try results[2].get() == laptop.sync.importedID("k"))
            // The same id on the other machine.
            #expect(await desk.eventually { await desk.sync.catalog.count == 3 })
            #expect(code(try await desk.sync.add([edit("Two", key: "k")])[0]) == .exists)
        }
    }

    @Test func `tasks that were added together are undone together`() async throws {
        try await withMachines { laptop, _ in
            _ = try await laptop.sync.add(edit("Before"))
            _ = try await laptop.sync.add((1...500).map { edit("Task \($0)") })
            #expect(await laptop.sync.catalog.count == 501)
            #expect(try await laptop.sync.undo(nil, isTrial: false).count == 500)
            #expect(await laptop.sync.catalog.living.map(\.title) == ["Before"])
            #expect(try laptop.names("").filter { $0.hasSuffix(".md") } == ["Before.md"])
        }
    }

    @Test func `a trial tells what would be added, and adds neither task nor list`() async throws {
        try await withMachines { laptop, _ in
            var trial = edit("One", list: "Work", key: "k")
            trial.isTrial = true
            let results = try await laptop.sync.add([trial, trial])
            #expect((try? results[0].get()) != nil && code(results[1]) == .exists)
            #expect(await laptop.sync.catalog.count == 0)
            #expect(await laptop.sync.catalog.listNames.isEmpty)
            #expect(try laptop.names("").allSatisfy { $0.hasPrefix(".") })
            trial.isTrial = false
            _ = try await laptop.sync.add(trial)
            trial.isTrial = true
            #expect(code(try await laptop.sync.add([trial])[0]) == .exists)
        }
    }

    @Test func `nothing is added while the directory is not the known one`() async throws {
        try await withMachines { laptop, _ in
            laptop.rename("", to: "../Away")
            try await laptop.sync.rescanNow()
            let error = await #expect(throws: TaskSyncError.self) { try await laptop.sync.add([edit("One")]) }
            #expect(error?.code == .held)
        }
    }
}
