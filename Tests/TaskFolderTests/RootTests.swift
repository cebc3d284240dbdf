import SystemIO
import TaskFolder
import Testing

struct RootTests {
    private let marker = RootMarker(rootID: "r1", account: "alice", remote: "https://ferry.example")

    @Test(arguments: DiskKind.allCases) func `a claimed root is known again`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        let unclaimed = try grounds.folder.rootState()
        #expect(unclaimed.marker == .none)
        #expect(unclaimed.verdict(rootID: "r1", remembered: unclaimed.identity) == .unmarked)
        try grounds.folder.claim(marker)
        let claimed = try grounds.folder.rootState()
        #expect(claimed.marker == .valid(marker) && claimed.identity == unclaimed.identity)
        #expect(claimed.verdict(rootID: "r1", remembered: unclaimed.identity) == .known)
        #expect(claimed.verdict(rootID: "r2", remembered: unclaimed.identity) == .other(marker))
        var moved = unclaimed.identity
        moved.inode += 1
        #expect(claimed.verdict(rootID: "r1", remembered: moved) == .elsewhere)
        try grounds.save(RootMarker.path, "garbage")
        #expect(try grounds.folder.rootState().marker == .unreadable)
    }

    @Test func `a device number that changed with a reboot does not make another root`() {
        let before = RootIdentity(device: 1, inode: 5, fileSystem: 9)
        #expect(RootIdentity(device: 2, inode: 5, fileSystem: 9).isSame(as: before))
        #expect(!RootIdentity(device: 2, inode: 5, fileSystem: 8).isSame(as: before))
        #expect(!RootIdentity(device: 2, inode: 5, fileSystem: 0).isSame(as: before))
    }

    @Test func `a file system without an id, such as FUSE, is recognized by marker and inode`() {
        let before = RootIdentity(device: 1, inode: 5, fileSystem: 0)
        #expect(RootIdentity(device: 2, inode: 5, fileSystem: 0).isSame(as: before))
        #expect(!RootIdentity(device: 2, inode: 6, fileSystem: 0).isSame(as: before))
        #expect(!RootIdentity(device: 2, inode: 5, fileSystem: 9).isSame(as: before))
        let state = RootState(identity: RootIdentity(device: 2, inode: 5, fileSystem: 0), marker: .valid(marker))
        #expect(state.verdict(rootID: "r1", remembered: before) == .known)
        #expect(state.verdict(rootID: "r2", remembered: before) == .other(marker))
    }

    @Test(arguments: DiskKind.allCases) func `a root that is not there is an error of its own and comes back`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.folder.claim(marker)
        try grounds.save("a.md", "x")
        if let path = grounds.path {
            try FileSystem.rename(path, to: path + "-away")
        } else {
            grounds.memory?.setRootMissing(true)
        }
        #expect(code { _ = try grounds.folder.rootState() } == .rootMissing)
        #expect(code { _ = try grounds.scan() } == .rootMissing)
        if let path = grounds.path {
            try FileSystem.rename(path + "-away", to: path)
        } else {
            grounds.memory?.setRootMissing(false)
        }
        #expect(try grounds.scan().files == ["a.md"])
    }

    @Test(arguments: DiskKind.allCases) func `an empty directory in the root's place is not taken for it`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.folder.claim(marker)
        try grounds.save("a.md", "x")
        let known = try grounds.folder.rootState()
        if let path = grounds.path {
            try FileSystem.rename(path, to: path + "-away")
            try FileSystem.makeDirectories(path)
        } else {
            grounds.memory?.replaceRoot()
        }
        let scan = try grounds.scan().scan
        #expect(scan.root.verdict(rootID: "r1", remembered: known.identity) == .unmarked)
        #expect(scan.root.identity != known.identity)
        if let path = grounds.path { try FileSystem.removeTree(path + "-away") }
    }

    @Test func `a released root is opened again, and another one in its place is not taken for it`() throws {
        let grounds = try Grounds(.kernel)
        let path = try #require(grounds.path)
        try grounds.folder.claim(marker)
        try grounds.save("a.md", "x")
        _ = try grounds.folder.rootState()
        #expect(grounds.folder.isOpen)
        grounds.folder.release()
        #expect(!grounds.folder.isOpen)
        #expect(try grounds.folder.stamp(TaskPath("a.md")) != nil)
        grounds.folder.release()
        try FileSystem.rename(path, to: path + "-away")
        try FileSystem.makeDirectories(path)
        // This is not the known directory, so nothing in it counts as removed.
        #expect(code { _ = try grounds.folder.stamp(TaskPath("a.md")) } == .other)
        try FileSystem.removeTree(path + "-away")
    }

    @Test func `a marker survives its own text and nothing else does`() {
        #expect(marker.bytes.flatMap { RootMarker(parsing: $0) } == marker)
        #expect(RootMarker(parsing: bytes("# x\r\nroot: a\naccount: b\nnew: c\nremote: d\n"))?.remote == "d")
        for text in ["", "root: a\naccount: b", "root: a\nroot: a\naccount: b\nremote: c", "root a", "root:\n"] {
            #expect(RootMarker(parsing: bytes(text)) == nil, "\(text)")
        }
        #expect(RootMarker(parsing: [0xFF, 0xFE]) == nil)
        #expect(RootMarker(rootID: "a\nb", account: "c", remote: "d").bytes == nil)
        #expect(RootMarker(rootID: "", account: "c", remote: "d").bytes == nil)
    }
}
