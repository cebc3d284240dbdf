import Glibc
import SystemIO
import SystemTestKit
import Testing

struct FileSystemTests {
    let temporary: TemporaryDirectory
    var root: String { temporary.path }

    init() throws { temporary = try TemporaryDirectory() }

    @Test func `a missing file is an error or nil as requested`() throws {
        #expect(code { _ = try FileSystem.read(root + "/none") } == .notFound)
        #expect(try FileSystem.readIfPresent(root + "/none") == nil)
        #expect(try !FileSystem.remove(root + "/none"))
        try FileSystem.removeTree(root + "/none")
    }

    @Test func `directories are made with all above them and again`() throws {
        try FileSystem.makeDirectories(root + "/a/b/c/", mode: 0o700)
        try FileSystem.makeDirectories(root + "/a/b/c", mode: 0o700)
        #expect(try FileSystem.status(root + "/a/b/c").kind == .directory)
        try FileSystem.replace(root + "/file", with: [])
        #expect(code { try FileSystem.makeDirectories(root + "/file") } == .notDirectory)
        #expect(code { try FileSystem.makeDirectories(root + "/file/x") } == .notDirectory)
    }

    @Test func `a lock excludes others until it is released`() throws {
        let path = root + "/lock"
        do {
            let lock = try #require(try FileLock.acquire(path))
            try lock.write(note: "pid 7")
            #expect(try FileLock.acquire(path) == nil)
            #expect(FileLock.note(of: path) == "pid 7")
            withExtendedLifetime(lock) {}
        }
        #expect(try FileLock.acquire(path) != nil)
    }

    @Test(arguments: [("/a/b", "/a", "b"), ("b", ".", "b"), ("/b", "/", "b"), ("a/b/", "a", "b"), ("/", "/", "")])
    func `a path splits into parent and name`(path: String, parent: String, name: String) {
        #expect(FileSystem.split(path) == (parent, name))
    }

    @Test func `positioned reads and writes leave the position alone`() throws {
        let file = try FileDescriptor(path: root + "/f", [.readWrite, .create])
        try file.write(bytes("hello world"))
        try file.write(bytes("W"), at: 6)
        #expect(try file.read(100, at: 6) == bytes("World"))
        #expect(try file.read(2, at: 0) == bytes("he"))
        #expect(try file.read(2, at: 50) == [])
        for (count, headSize, offset, head, rest) in [
            (3, 2, 0, "he", "llo"), (100, 2, 6, "Wo", "rld"), (3, 100, 6, "World", ""), (0, 2, 0, "he", ""),
            (2, 0, 0, "", "he"), (2, 2, 50, "", ""),
        ] {
            let read = try file.read(count, behind: headSize, at: Int64(offset))
            #expect(read.head == bytes(head) && read.bytes == bytes(rest))
        }
        try file.truncate(to: 5)
        #expect(try file.status().size == 5)
    }

    @Test func `a long file that is written and read through a window is the same`() throws {
        let directory = try TemporaryDirectory()
        let file = try FileDescriptor(path: directory.path + "/long", [.readWrite, .create])
        let part = (0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        var window = PageWindow()
        for number in 0..<20 {
            try file.write(part, at: Int64(number * part.count))
            try window.hasWritten(upTo: Int64((number + 1) * part.count), of: file)
        }
        try file.synchronize()
        var reading = PageWindow()
        for number in 0..<20 {
            #expect(try file.read(part.count, at: Int64(number * part.count)) == part)
            reading.hasRead(upTo: Int64((number + 1) * part.count), of: file)
        }
    }

    @Test func `a full disk names its remedy`() throws {
        let full = try FileDescriptor(path: "/dev/full", .write)
        do {
            try full.write([1])
            Issue.record("/dev/full took a byte")
        } catch {
            #expect(error.code == .noSpace)
            #expect(error.isTransient)
            #expect(error.message.hasPrefix("cannot write /dev/full: No space left on device. Free space"))
        }
    }

    @Test func `random bytes have the requested number and differ`() {
        for count in [0, 1, 7, 8, 9, 100] { #expect(SystemRandom.bytes(count).count == count) }
        #expect(SystemRandom.hex(16) != SystemRandom.hex(16))
        #expect(SystemRandom.hex(16).utf8.count == 32)
    }

    @Test func `free space is known`() throws {
        #expect(try FileSystem.freeSpace(root) > 0)
    }

    @Test func `attributes are kept where the file system has them`() throws {
        let file = try FileDescriptor(path: root + "/a", [.readWrite, .create])
        #expect(try file.attribute("user.ferry.id") == nil)
        guard try file.setAttribute("user.ferry.id", to: bytes("id")) else { return }
        #expect(try file.attribute("user.ferry.id") == bytes("id"))
        #expect(try file.attributeNames().contains("user.ferry.id"))
        #expect(try file.removeAttribute("user.ferry.id"))
        #expect(try !file.removeAttribute("user.ferry.id"))
    }
}
