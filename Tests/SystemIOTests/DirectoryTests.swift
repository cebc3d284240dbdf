import Glibc
import SystemTestKit
import Testing

@testable import SystemIO

struct DirectoryTests {
    let temporary: TemporaryDirectory
    var root: Directory { temporary.directory }

    init() throws { temporary = try TemporaryDirectory() }

    @Test func `a replaced file has the new content and no temporary file is left`() throws {
        try root.replace("a", with: bytes("one"))
        try root.replace("a", with: bytes("two"), mode: 0o600)
        #expect(try root.read("a", limit: 10) == bytes("two"))
        #expect(try root.status("a").mode == 0o600)
        #expect(try temporary.names == ["a"])
    }

    @Test func `an exclusive replace keeps the file that was first`() throws {
        try root.replace("a", with: bytes("one"))
        #expect(code { try root.replace("a", with: bytes("two"), exclusive: true) } == .exists)
        #expect(try root.read("a", limit: 10) == bytes("one"))
        #expect(try temporary.names == ["a"])
    }

    @Test func `a replace that cannot take the name leaves nothing behind`() throws {
        try root.makeDirectory("taken")
        #expect(code { try root.replace("taken", with: [1]) } == .isDirectory)
        #expect(try temporary.names == ["taken"])
    }

    @Test(arguments: ["../x", "/etc/passwd", "out/x", "sub/../../x", "", "a\0b", "..", "loop/loop/x"])
    func `no path leads out of the root`(path: String) throws {
        try root.makeDirectory("sub")
        #expect(symlink("/", temporary.path + "/out") == 0)
        #expect(symlink(".", temporary.path + "/loop") == 0)
        #expect(throws: SystemError.self) { _ = try root.open(path, .read) }
        #expect(throws: SystemError.self) { try root.replace(path, with: [1]) }
        #expect(throws: SystemError.self) { try root.makeDirectory(path) }
        #expect(throws: SystemError.self) { try root.rename("sub", to: path) }
        #expect(throws: SystemError.self) { try root.remove(path) }
        #expect(throws: SystemError.self) { try root.status(path) }
        #expect(try temporary.names == ["loop", "out", "sub"])
    }

    @Test func `a link is not followed but can be examined and removed`() throws {
        #expect(symlink("/etc/passwd", temporary.path + "/link") == 0)
        #expect(code { _ = try root.open("link", .read) } == .leavesRoot)
        #expect(try root.status("link").kind == .link)
        try root.remove("link")
        #expect(try temporary.names == [])
    }

    @Test(arguments: [
        "../x", "/etc/passwd", "out/x", "out", "sub/../../x", "..", "loop/loop/x", "sub/../a", "a/b", "none",
    ])
    func `stepping rejects the paths that openat2 rejects`(path: String) throws {
        try root.makeDirectory("sub")
        try root.replace("a", with: bytes("one"))
        #expect(symlink("/", temporary.path + "/out") == 0)
        #expect(symlink(".", temporary.path + "/loop") == 0)
        for flags in [O_RDONLY, O_RDONLY | O_DIRECTORY] {
            let raw = root.openByStepping(path, flags: flags | O_CLOEXEC, mode: 0)
            let reason = errno
            #expect(raw == -1)
            if raw >= 0 { close(raw) }
            if path != "sub/../a" {
                let expected = code { _ = try root.open(path, OpenOptions(rawValue: flags)) }
                let stepped = code { () throws(SystemError) in
                    errno = reason
                    throw .last("open", path)
                }
                #expect(path.hasPrefix("/") || stepped == expected)
            }
        }
    }

    @Test(arguments: ["a", "sub/a", "./sub//a"])
    func `stepping opens and creates paths beneath the directory`(path: String) throws {
        try root.makeDirectory("sub")
        let raw = root.openByStepping(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        #expect(raw >= 0)
        guard raw >= 0 else { return }
        let file = FileDescriptor(owning: raw, path: path)
        try file.write(bytes("one"))
        #expect(try root.read(path, limit: 10) == bytes("one"))
        let again = root.openByStepping(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        #expect(again == -1 && errno == EEXIST)
    }

    @Test func `a pipe is refused without waiting for a writer`() throws {
        #expect(mkfifo(temporary.path + "/pipe", 0o600) == 0)
        #expect(code { _ = try root.read("pipe", limit: 10) } == .unsupported)
    }

    @Test func `a file over the limit is refused`() throws {
        try root.replace("a", with: [UInt8](repeating: 7, count: 1001))
        #expect(code { _ = try root.read("a", limit: 1000) } == .tooLarge)
        #expect(try root.read("a", limit: 1001).count == 1001)
    }

    @Test func `renames replace, refuse or exchange as requested`() throws {
        try root.replace("a", with: bytes("a"))
        try root.replace("b", with: bytes("b"))
        #expect(code { try root.rename("a", to: "b", .exclusive) } == .exists)
        try root.rename("a", to: "b", .exchanging)
        #expect(try root.read("a", limit: 9) == bytes("b"))
        try root.makeDirectories("x/y")
        try root.makeDirectories("x/y")
        try root.rename("a", to: "x/y/b", .exclusive)
        #expect(try root.read("x/y/b", limit: 9) == bytes("b"))
        try root.rename("b", to: "x/y/b")
        #expect(try root.read("x/y/b", limit: 9) == bytes("a"))
        #expect(try temporary.names == ["x"])
    }

    @Test func `names that are not text are listed escaped and can be removed`() throws {
        let name: [CChar] = [0x61, -1, 0x0A, 0]
        let raw = openat(root.descriptor.rawValue, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        #expect(raw >= 0)
        close(raw)
        let entries = try root.entries()
        #expect(entries.map(\.name) == ["a\\xff\\x0a"])
        #expect(entries.first?.invalidBytes == [0x61, 0xFF, 0x0A])
        try root.removeContents()
        #expect(try temporary.names == [])
    }

    @Test func `a listing of thousands is complete`() throws {
        for number in 0..<3000 { _ = try root.open("file number \(number)", [.write, .create]) }
        #expect(Set(try temporary.names).count == 3000)
        #expect(try root.entries().allSatisfy { $0.kind == .file && $0.inode != 0 })
    }

    @Test func `removing a tree does not follow links out of it`() throws {
        let other = try TemporaryDirectory()
        try other.directory.replace("kept", with: [1])
        try root.makeDirectories("a/b")
        #expect(symlink(other.path, temporary.path + "/a/link") == 0)
        try FileSystem.removeTree(temporary.path + "/a")
        #expect(try temporary.names == [])
        #expect(try other.names == ["kept"])
    }
}
