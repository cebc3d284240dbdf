import DocumentModel
import Glibc
import TaskModel
import Testing

/// Tests with the real task files of Tests/Fixtures/tasknotes-vault, which other software wrote.
@Suite struct VaultTests {
    private static let root = #filePath.replacing(
        "TaskModelTests/VaultTests.swift", with: "Fixtures/tasknotes-vault")

    /// The paths below the root.
    static let paths: [String] = {
        var found: [String] = []
        var folders = [""]
        while let folder = folders.popLast() {
            guard let directory = opendir(root + "/" + folder) else { continue }
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                guard !name.hasPrefix(".") else { continue }
                let path = folder.isEmpty ? name : folder + "/" + name
                if entry.pointee.d_type == UInt8(DT_DIR) { folders.append(path) }
                if name.hasSuffix(".md") { found.append(path) }
            }
        }
        return found.sorted()
    }()

    private func bytes(_ path: String) -> [UInt8] {
        guard let file = fopen(Self.root + "/" + path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 100_000)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    private func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    @Test func `the vault is there`() {
        #expect(Self.paths.count == 22)
    }

    @Test(arguments: paths)
    func `a real file is read and comes back byte for byte`(path: String) throws {
        let bytes = bytes(path)
        let file = try TaskFile(parsing: bytes, named: name(path))
        #expect(try file.updated(to: file.item).bytes == bytes)
        #expect(try file.updated(to: TaskItem(fields: file.item.documentFields)).bytes == bytes)
    }

    @Test(arguments: paths)
    func `a real file's task is equal after the round trip through a document`(path: String) throws {
        let item = try TaskFile(parsing: bytes(path), named: name(path)).item
        let there = try TaskFile.make(
            for: TaskItem(fields: item.documentFields), named: "Other.md", writesTitle: true)
        #expect(there.item == item)
    }

    @Test(arguments: paths)
    func `completing a real task adds one line`(path: String) throws {
        let bytes = bytes(path)
        let file = try TaskFile(parsing: bytes, named: name(path))
        var item = file.item
        item.completed = true
        let text = String(decoding: try file.updated(to: item).bytes, as: UTF8.self)
        let line = "completed: true\n"
        let original = String(decoding: bytes, as: UTF8.self)
        #expect(text.replacing(line, with: "") == original || text == "---\n\(line)---\n" + original)
    }

    @Test func `values with a meaning for other software are kept in their form`() throws {
        let item = try TaskFile(parsing: bytes("TaskNotes/Buy groceries.md"), named: "Buy groceries.md").item
        #expect(item.title == "Buy groceries")
        #expect(item.priority == .medium)
        #expect(item.due?.text == "2025-12-31T17:00")
        #expect(item.due?.kind == .localTime)
        #expect(item.tags == ["errands", "home", "task"])
        #expect(
            item.fields == [
                "status": .string("none"), "scheduled": .string("2025-12-30"),
                "contexts": .array([.string("@shopping")]),
                "timeEstimate": .integer(45), "dateModified": .string("2025-12-31T15:34:27.967+11:00"),
            ])
        let bug = try TaskFile(parsing: bytes("TaskNotes/Fix login bug.md"), named: "Fix login bug.md").item
        #expect(bug.misunderstoodKeys == ["priority"])
        #expect(bug.fields["priority"] == .string("critical"))
        #expect(!bug.completed)
    }
}
