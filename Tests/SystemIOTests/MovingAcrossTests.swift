import Glibc
import SystemTestKit
import Testing

@testable import SystemIO

/// Moves to another file system: `/dev/shm` is one in memory, `/tmp` is mostly another.
struct MovingAcrossTests {
    let near: TemporaryDirectory
    let far: TemporaryDirectory

    init() throws {
        near = try TemporaryDirectory()
        far = try TemporaryDirectory(isLarge: true)
    }

    @Test func `the copy has contents, holes, mode, time and attributes, and nothing else is left`() throws {
        try near.directory.replace("a", with: bytes("one"))
        do {
            let file = try near.directory.open("a", .readWrite)
            try file.write(bytes("end"), at: 5 << 20)
            #expect(try file.setAttribute("user.ferry.id", to: bytes("T")))
            try file.setModified(FileTime(seconds: 1_000, nanoseconds: 5))
            // Without the right to write: an ordinary user could set no attribute after this.
            try file.changeMode(0o444)
        }
        let original = try near.directory.status("a")
        let moved = try near.directory.moveAcross("a", to: "b", in: far.directory, isReplacing: false)
        #expect(moved.original == original)
        #expect(moved.copy.inode == (try far.directory.status("b").inode))
        #expect(moved.copy.mode == 0o444 && moved.copy.modified == FileTime(seconds: 1_000, nanoseconds: 5))
        let copy = try far.directory.open("b", .read)
        #expect(try copy.readAll() == bytes("one") + [UInt8](repeating: 0, count: (5 << 20) - 3) + bytes("end"))
        #expect(try copy.nextData(from: 1 << 20) == 5 << 20)
        #expect(try copy.attribute("user.ferry.id") == bytes("T"))
        #expect(try near.names == [] && far.names == ["b"])
    }

    @Test func `a directory goes with everything in it`() throws {
        try near.directory.makeDirectories("d/e")
        try near.directory.replace("d/e/f", with: bytes("deep"))
        #expect(symlink("nowhere", near.path + "/d/link") == 0)
        _ = try near.directory.moveAcross("d", to: "d", in: far.directory, isReplacing: false)
        #expect(try far.directory.read("d/e/f", limit: 10) == bytes("deep"))
        #expect(try far.directory.status("d/link").kind == .link)
        #expect(try near.names == [] && far.names == ["d"])
    }

    @Test func `a name that is taken stays, and so does the original`() throws {
        try near.directory.replace("a", with: bytes("one"))
        try far.directory.replace("a", with: bytes("two"))
        #expect(
            code { _ = try near.directory.moveAcross("a", to: "a", in: far.directory, isReplacing: false) } == .exists)
        #expect(try far.directory.read("a", limit: 10) == bytes("two"))
        #expect(try near.names == ["a"] && far.names == ["a"])
        _ = try near.directory.moveAcross("a", to: "a", in: far.directory, isReplacing: true)
        #expect(try far.directory.read("a", limit: 10) == bytes("one"))
        #expect(try near.names == [] && far.names == ["a"])
    }

    @Test func `what cannot be copied stays as it is`() throws {
        try near.directory.makeDirectory("d")
        try near.directory.replace("d/a", with: bytes("one"))
        #expect(mkfifo(near.path + "/d/pipe", 0o600) == 0)
        #expect(
            code { _ = try near.directory.moveAcross("d", to: "d", in: far.directory, isReplacing: false) }
                == .unsupported)
        #expect(try near.directory.entries().count == 1 && far.names == [])
        #expect(try near.directory.directory("d").entries().count == 2)
    }

    @Test func `an original that cannot be removed stays, and its copy goes`() throws {
        try near.directory.makeDirectory("d")
        try near.directory.replace("d/a", with: bytes("one"))
        let d = try near.directory.directory("d")
        try d.descriptor.changeMode(0o555)
        defer { try? d.descriptor.changeMode(0o755) }
        // Only an ordinary user is kept from it.
        guard geteuid() != 0 else { return }
        #expect(
            code { _ = try near.directory.moveAcross("d/a", to: "a", in: far.directory, isReplacing: false) }
                == .notPermitted)
        #expect(try near.directory.read("d/a", limit: 10) == bytes("one"))
        #expect(try far.names == [])
    }
}
