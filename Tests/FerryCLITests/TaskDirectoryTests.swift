import Glibc
import SystemIO
import Testing

@testable import FerryCLI

@Suite struct TaskDirectoryTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let path = "/tmp/ferry-cli-tests-\(SystemRandom.hex(8))"
        try FileSystem.makeDirectories(path, mode: 0o700)
        defer { try? FileSystem.removeTree(path) }
        try body(path)
    }

    private func write(_ path: String, _ text: String = "") throws {
        try FileSystem.makeDirectories(FileSystem.split(path).parent)
        try FileSystem.replace(path, with: Array(text.utf8))
    }

    @Test func `tasks and their attachments are found, and hidden or other files are not taken for tasks`() throws {
        try withDirectory { path in
            for name in [
                "B.md", "A.md", "Work/Deep/C.md", "A.files/x.pdf", "A.files/inner.md", "Alone.files/y.pdf",
                ".ferry/root",
                ".hidden.md", "picture.png",
            ] { try write("\(path)/\(name)") }
            let deep = (0..<17).map { "d\($0)" }.joined(separator: "/")
            try write("\(path)/\(deep)/deep.md")
            #expect(symlink("A.md", "\(path)/link.md") == 0)
            let strange: [CChar] = "\(path)/".utf8CString.dropLast() + [CChar(bitPattern: 0xFF), 0]
            #expect(mknod(strange, S_IFREG | 0o600, 0) == 0)
            let found = try TaskDirectory(path).files()
            #expect(found.tasks.map(\.path) == ["A.md", "B.md", "Work/Deep/C.md"])
            #expect(found.tasks.first?.attachments == ["A.files/inner.md", "A.files/x.pdf"])
            #expect(found.tasks.last?.stem == "Work/Deep/C" && found.hidden == 2)
            #expect(found.others.contains { $0.path == "Alone.files/y.pdf" } && found.others.count == 5)
            #expect(found.others.contains { $0.path == "link.md" && $0.reason.contains("link") })
            #expect(found.others.contains { $0.path.hasPrefix("d0/d1") && $0.reason.contains("deep") })
            #expect(found.others.contains { $0.reason.contains("UTF-8") })
        }
    }

    @Test func `a copy appears complete and replaces nothing`() throws {
        try withDirectory { path in
            try write("\(path)/from/A.md", "one\n")
            try write("\(path)/to/Work/B.md", "kept\n")
            let (source, target) = (try TaskDirectory("\(path)/from"), try TaskDirectory("\(path)/to"))
            try target.copy("A.md", of: source, to: "New/List/A.md")
            #expect(try target.read("New/List/A.md") == Array("one\n".utf8))
            #expect(throws: SystemError.self) { try target.copy("A.md", of: source, to: "Work/B.md") }
            #expect(throws: SystemError.self) { try target.copy("A.md", of: source, to: "../outside.md") }
            #expect(try target.read("Work/B.md") == Array("kept\n".utf8))
            #expect(try Directory(path: "\(path)/to/Work").entries().map(\.name) == ["B.md"])
            #expect(try target.readIfPresent("none.md") == nil)
        }
    }
}
