import DocumentClient
import DocumentModel
import ObjectStorage
import Simulation
import Testing

@testable import TaskSync

/// What a sync would do is what it then does, and asking for it changes nothing.
@Suite(.serialized) struct PreviewTests {
    private func told(_ machine: Machine) async throws -> [String] {
        try await machine.sync.preview().map { step in
            let fields = step.fields.map(\.description).sorted()
            return "\(step.action) \(step.subject)" + (fields.isEmpty ? "" : " \(fields.joined(separator: ","))")
        }.sorted()
    }

    @Test func `what waits on this side is told, each task once`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("A.md", "a\n")
            try laptop.write("B.md", "b\n")
            try laptop.write("Work/C.md", "c\n")
            #expect(await desk.has("Work/C.md", "c\n"))
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            #expect(try await told(laptop) == [])
            laptop.remote.cut(true)
            await laptop.sync.setPaused(true)
            try laptop.write("A.md", "---\npriority: high\n---\na\n")
            try laptop.write("D.md", "d\n")
            try laptop.write("D.files/x.txt", "12345")
            try laptop.write("None.files/y.txt", "1")
            try laptop.write("Bad.md", "---\na: [\n---\n")
            laptop.remove("B.md")
            let all = [
                "delete B", "leave Bad.md", "leave None.files/y.txt", "send A.md priority", "send D.md",
                "upload D.files/x.txt",
            ]
            // Before the daemon has taken it in, and after.
            #expect(try await told(laptop).map { $0.replacing("B.md", with: "B") } == all)
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().count == 3 })
            #expect(try await told(laptop) == all)
            #expect(try await told(laptop) == all)
            #expect(laptop.read("A.md") == "---\npriority: high\n---\na\n" && laptop.read("B.md") == nil)
        }
    }

    @Test func `a removed file whose task changed elsewhere is written again, and so it is told`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("A.md", "a\n")
            #expect(await desk.has("A.md", "a\n"))
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            await laptop.sync.setPaused(true)
            try desk.write("A.md", "more\n")
            #expect(try await laptop.eventually { try await told(laptop) == ["write A.md"] })
            laptop.remove("A.md")
            #expect(try await told(laptop) == ["write A.md"])
            await laptop.sync.setPaused(false)
            #expect(await laptop.has("A.md", "more\n"))
            #expect(desk.read("A.md") == "more\n")
        }
    }
}
