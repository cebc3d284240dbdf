import Glibc
import SystemIO
import TaskFolder
import Testing

/// Tests of the contract of writing, moving and reading, on both disks.
struct WritingTests {
    /// Checks moves to a list on another file system, for which `/dev/shm` is used.
    @Test func `moves, the trash and attachments cross file systems`() throws {
        let grounds = try Grounds(.kernel)
        let path = try #require(grounds.path)
        let far = "/dev/shm/ferry-test-" + SystemRandom.hex(8)
        try FileSystem.makeDirectories(far)
        defer {
            umount(path + "/Far")
            try? FileSystem.removeTree(far)
        }
        try FileSystem.makeDirectories(path + "/Far")
        // Only root may mount; 4096 is MS_BIND.
        guard mount(far, path + "/Far", nil, 4096, nil) == 0 else { return }
        try grounds.save("a.md", "one\n")
        _ = try grounds.folder.setMark(TaskPath("a.md"), to: FileMark(task: "T"), of: try grounds.stamp("a.md"))
        let before = try grounds.stamp("a.md")
        let moved = try grounds.folder.move(TaskPath("a.md"), to: TaskPath("Far/b.md"), expecting: .stamp(before))
        let after = try grounds.stamp("Far/b.md")
        #expect(moved == .moved(after) && !after.isFile(of: before) && after.modified == before.modified)
        #expect(try grounds.folder.identifier(TaskPath("Far/b.md")) == "T")
        #expect(!grounds.exists("a.md"))
        // An existing file is not replaced.
        try grounds.save("b.md", "two\n")
        #expect(try grounds.folder.move(TaskPath("Far/b.md"), to: TaskPath("b.md"), expecting: .anything) == .exists)
        // Downloads arrive on another file system, in place of a file and of none.
        for (name, expecting) in [("new.txt", FileExpectation.absent), ("new.txt", .anything)] {
            try grounds.folder.makeDirectory(TaskPath("Far/b.files"))
            try grounds.folder.openIncoming("x").write(Array("bytes".utf8))
            let place = try TaskPath("Far/b.files/" + name)
            let outcome = try grounds.folder.placeIncoming("x", at: place, expecting: expecting)
            #expect(outcome == .written(try grounds.stamp("Far/b.files/" + name)))
            #expect(try grounds.folder.incomingNames() == [])
        }
        let items = [
            TrashItem(path: try TaskPath("Far/b.md"), expecting: .stamp(after)),
            TrashItem(path: try TaskPath("Far/b.files"), expecting: .anything),
        ]
        guard case .trashed(let entry) = try grounds.folder.trash(items) else {
            Issue.record("not trashed")
            return
        }
        #expect(try grounds.folder.trashedFiles(entry).map(\.name) == ["new.txt"])
        #expect(try grounds.names("Far") == [])
        // It is the file that was known there, though it has another inode: it does not come back.
        #expect(try grounds.folder.takeBackFromTrash([TaskPath("Far/b.md"): after]) == [])
        #expect(try grounds.folder.takeFromTrash(entry, "new.txt", to: TaskPath("Far/c.files/new.txt")))
        #expect(try grounds.text("Far/c.files/new.txt") == "bytes")
    }

    @Test func `a file that may not be written is replaced and keeps its mode`() throws {
        let grounds = try Grounds(.kernel)
        try grounds.save("a.md", "one")
        try grounds.user.setMode("a.md", 0o444)
        let write = FolderWrite(
            path: try TaskPath("a.md"), bytes: bytes("two"), expecting: .stamp(try grounds.stamp("a.md")),
            mark: FileMark(task: "T"))
        #expect(try grounds.folder.write([write])[0].get() == .written(try grounds.stamp("a.md")))
        #expect(try grounds.text("a.md") == "two")
        #expect(try grounds.user.status("a.md").mode == 0o444)
        #expect(try grounds.folder.identifier(TaskPath("a.md")) == "T")
    }

    @Test(arguments: DiskKind.allCases) func `a new file is written into a list that is there, and found by its stamp`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        #expect(code { _ = try grounds.write("Work/Ship 1.0.md", "hello", .absent) } == .notFound)
        try grounds.folder.makeDirectory(TaskPath("Work"))
        let outcome = try grounds.write("Work/Ship 1.0.md", "hello", .absent)
        #expect(try outcome == .written(grounds.stamp("Work/Ship 1.0.md")))
        #expect(try grounds.folder.read(TaskPath("Work/Ship 1.0.md")).bytes == bytes("hello"))
        #expect(try grounds.names("Work") == ["Ship 1.0.md"])
    }

    @Test(arguments: DiskKind.allCases) func `many files are examined like each alone`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        for path in ["a.md", "Work/b.md", "Work/Deep/c.md"] { try grounds.save(path, path) }
        let paths = try ["a.md", "Work/b.md", "Work/no.md", "Gone/x.md", "Work/Deep/c.md", "Work"].map {
            try TaskPath($0)
        }
        for (path, stamp) in zip(paths, grounds.folder.stamps(paths)) {
            switch stamp {
            case .success(let stamp): #expect(try stamp == grounds.folder.stamp(path))
            case .failure(let error): #expect(code { _ = try grounds.folder.stamp(path) } == error.code)
            }
        }
    }

    @Test(arguments: DiskKind.allCases) func `a file that exists is not replaced by one that should be new`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "user")
        #expect(try grounds.write("a.md", "ferry", .absent) == .changed(try grounds.stamp("a.md")))
        #expect(try grounds.text("a.md") == "user")
        #expect(try grounds.names("") == ["a.md"])
    }

    @Test(arguments: DiskKind.allCases) func `a replace needs the version that was read`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        let first = try grounds.folder.read(TaskPath("a.md")).stamp
        guard case .written(let second) = try grounds.write("a.md", "two", .stamp(first)) else {
            Issue.record("refused")
            return
        }
        #expect(try second == grounds.stamp("a.md"))
        #expect(second != first)
        #expect(try grounds.write("a.md", "three", .stamp(first)) == .changed(second))
        #expect(try grounds.text("a.md") == "two")
        try grounds.user.remove("a.md")
        #expect(try grounds.write("a.md", "three", .stamp(second)) == .changed(nil))
        #expect(try grounds.names("") == [])
    }

    @Test(arguments: DiskKind.allCases) func `a replace keeps the mode and the user's attributes`(kind: DiskKind) throws
    {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        try grounds.user.setMode("a.md", 0o640)
        let tagged = try grounds.user.setAttribute(
            "a.md", FileAttribute(name: "user.tag", value: bytes("red")), of: nil)
        let results = grounds.folder.write([
            FolderWrite(
                path: try TaskPath("a.md"), bytes: bytes("two"), expecting: .anything, mark: FileMark(task: "id7"))
        ])
        #expect(try results[0].get() == .written(grounds.stamp("a.md")))
        #expect(try grounds.user.status("a.md").mode == 0o640)
        guard tagged else { return }
        #expect(
            try Set(grounds.user.attributes("a.md").map(\.name)) == ["user.tag", "user.ferry.id"])
        #expect(try grounds.folder.identifier(TaskPath("a.md")) == "id7")
    }

    @Test(arguments: DiskKind.allCases) func `an identifier is kept on the file and gives its new stamp`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        let path = try TaskPath("a.md")
        #expect(try grounds.folder.identifier(path) == nil)
        guard let before = try grounds.folder.stamp(path),
            let stamp = try grounds.folder.setMark(path, to: FileMark(task: "id7"), of: before)
        else { return }
        #expect(try grounds.stamp("a.md") == stamp)
        #expect(try grounds.folder.identifier(path) == "id7")
    }

    @Test func `a mark names a task, and perhaps an account`() {
        for mark in [FileMark(task: "T"), FileMark(task: "T", account: "a/b"), FileMark(task: "T", account: "")] {
            #expect(FileMark(parsing: mark.bytes) == mark)
        }
        #expect(FileMark(parsing: bytes("T")) == FileMark(task: "T"))
        #expect(FileMark(task: "T", account: "alice").bytes == bytes("T/alice"))
        // An account that there is no room for is left out, so that the task can still be read.
        let long = FileMark(task: "T", account: String(repeating: "a", count: 255))
        #expect(long.bytes == bytes("T"))
        #expect(FileMark(parsing: Array(repeating: 65, count: 257)) == nil && FileMark(parsing: [0xFF]) == nil)
    }

    @Test(arguments: DiskKind.allCases) func `a batch writes what it can and reports the result of each file`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("taken.md", "user")
        try grounds.folder.makeDirectory(TaskPath("L"))
        var writes = try (0..<20).map { number in
            FolderWrite(path: try TaskPath("L/\(number).md"), bytes: bytes("\(number)"), expecting: .absent)
        }
        writes.insert(FolderWrite(path: try TaskPath("taken.md"), bytes: [1], expecting: .absent), at: 7)
        writes.insert(FolderWrite(path: try TaskPath("hidden/.x.md"), bytes: [1], expecting: .absent), at: 9)
        let results = grounds.folder.write(writes)
        #expect(try results[7].get() == .changed(grounds.stamp("taken.md")))
        #expect(throws: FolderError.self) { try results[9].get() }
        for (index, write) in writes.enumerated() where index != 7 && index != 9 {
            #expect(try results[index].get() == .written(grounds.stamp(write.path.string)))
        }
        #expect(try grounds.names("L").count == 20)
        #expect(try grounds.names("") == ["L", "taken.md"])
    }

    @Test(
        arguments: DiskKind.allCases,
        ["../x.md", "/x.md", "a/../../x.md", "a//x.md", "", "x\0.md", "a/./x.md", "x\n.md"])
    func `an invalid path is refused before the disk is touched`(kind: DiskKind, path: String) throws {
        #expect(code { _ = try TaskPath(path) } == .invalidName)
    }

    @Test(arguments: DiskKind.allCases) func `a name of 256 bytes is refused and one of 255 is not`(kind: DiskKind)
        throws
    {
        let grounds = try Grounds(kind)
        #expect(code { _ = try TaskPath(String(repeating: "é", count: 127) + ".md") } == .invalidName)
        let path = String(repeating: "é", count: 126) + ".md"
        _ = try grounds.write(path, "x", .absent)
        #expect(try grounds.scan().files == [path])
    }

    @Test(arguments: DiskKind.allCases) func `what a scan would not see is not written`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        for path in [".hidden.md", "x.txt", "x.md~", "X.files/a/b.md", ".ferry/x.md", "X.files/x.part"] {
            #expect(code { _ = try grounds.write(path, "x", .absent) } == .invalidName, "\(path)")
        }
        #expect(try grounds.names("") == [])
    }

    @Test(arguments: DiskKind.allCases) func `a move keeps the file, and does not create its list`(kind: DiskKind)
        throws
    {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        let before = try grounds.stamp("a.md")
        let target = try TaskPath("Work/Deep/b.md")
        // Its directory may just have been renamed, and a recreated one would be another list.
        #expect(
            code { _ = try grounds.folder.move(TaskPath("a.md"), to: target, expecting: .stamp(before)) } == .notFound)
        #expect(!grounds.exists("Work"))
        try grounds.folder.makeDirectory(target.parent)
        guard
            case .moved(let after) = try grounds.folder.move(TaskPath("a.md"), to: target, expecting: .stamp(before))
        else {
            Issue.record("not moved")
            return
        }
        #expect(after.hasContent(of: before))
        #expect(try after == grounds.stamp("Work/Deep/b.md"))
        #expect(!grounds.exists("a.md"))
    }

    @Test(arguments: DiskKind.allCases) func `a move never replaces and never moves another version`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        try grounds.save("b.md", "two")
        let old = try grounds.stamp("a.md")
        #expect(try grounds.folder.move(TaskPath("a.md"), to: TaskPath("b.md"), expecting: .anything) == .exists)
        try grounds.save("a.md", "longer")
        #expect(
            try grounds.folder.move(TaskPath("a.md"), to: TaskPath("c.md"), expecting: .stamp(old))
                == .changed(grounds.stamp("a.md")))
        #expect(
            try grounds.folder.move(TaskPath("none.md"), to: TaskPath("c.md"), expecting: .anything) == .changed(nil))
        #expect(try grounds.names("") == ["a.md", "b.md"])
    }

    @Test(arguments: DiskKind.allCases) func `a move that is refused stops none of the others`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        for name in ["a.md", "b.md", "c.md"] { try grounds.save(name, name) }
        let known = try grounds.stamp("a.md")
        try grounds.folder.makeDirectory(TaskPath("Work"))
        let moves = try [("a", "Work/a"), ("none", "Work/none"), ("b", "c"), ("c", "Gone/c"), ("b", "Work/b")].map {
            FolderMove(
                try TaskPath("\($0).md"), to: try TaskPath("\($1).md"),
                expecting: $0 == "a" ? .stamp(known) : .anything)
        }
        let results = grounds.folder.move(moves)
        #expect(try results[0].get() == .moved(grounds.stamp("Work/a.md")))
        #expect(try results[1].get() == .changed(nil))
        #expect(try results[2].get() == .exists)
        #expect(code { _ = try results[3].get() } == .notFound)
        #expect(try results[4].get() == .moved(grounds.stamp("Work/b.md")))
        #expect(try grounds.text("c.md") == "c.md")
    }

    @Test(arguments: DiskKind.allCases) func `a directory moves with all that is in it`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("X.files/a.png", "png")
        _ = try grounds.folder.move(TaskPath("X.files"), to: TaskPath("Work/Y.files"), expecting: .anything)
        #expect(try grounds.text("Work/Y.files/a.png") == "png")
        #expect(
            code { _ = try grounds.folder.move(TaskPath("Work"), to: TaskPath("Work.md"), expecting: .anything) }
                == .invalidName)
    }

    @Test(arguments: DiskKind.allCases) func `only an empty directory is removed`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work/.hidden", "x")
        let work = try TaskPath("Work")
        #expect(try !grounds.folder.removeDirectoryIfEmpty(work))
        try grounds.user.remove("Work/.hidden")
        #expect(try grounds.folder.removeDirectoryIfEmpty(work))
        #expect(try grounds.folder.removeDirectoryIfEmpty(work))
        try grounds.folder.makeDirectory(work)
        try grounds.folder.makeDirectory(work)
        #expect(grounds.exists("Work"))
    }

    @Test(arguments: DiskKind.allCases) func `a directory with nothing but what a failed write left is removed`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work/.ferry-0000000000000001.tmp", "words")
        #expect(try grounds.folder.removeDirectoryIfEmpty(TaskPath("Work")))
        #expect(!grounds.exists("Work"))
        let recovered = try grounds.names(".ferry/recovered")
        #expect(try recovered.map { try grounds.text(".ferry/recovered/\($0)") } == ["words"])
    }

    @Test(arguments: DiskKind.allCases) func `a task file over the limit is not read`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", String(repeating: "x", count: TaskFileContent.limit))
        #expect(try grounds.folder.read(TaskPath("a.md")).bytes.count == TaskFileContent.limit)
        try grounds.save("a.md", String(repeating: "x", count: TaskFileContent.limit + 1))
        #expect(code { _ = try grounds.folder.read(TaskPath("a.md")) } == .tooLarge)
    }

    @Test(arguments: DiskKind.allCases) func `a directory is not a task file`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.user.makeDirectories("a.md")
        let path = try TaskPath("a.md")
        #expect(code { _ = try grounds.folder.stamp(path) } == .wrongKind)
        #expect(code { _ = try grounds.folder.read(path) } == .wrongKind)
        #expect(code { _ = try grounds.write("a.md", "x", .anything) } == .wrongKind)
        #expect(code { _ = try grounds.folder.openSnapshot(path) } == .wrongKind)
        #expect(code { _ = try grounds.folder.openSnapshot(TaskPath("b.md")) } == .notFound)
        #expect(try grounds.names("") == ["a.md"])
    }

    @Test(arguments: DiskKind.allCases) func `a path beneath a file or a link is blocked, which is not its own kind`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work", "words")
        try grounds.memory?.makeLink("Link")
        if let root = grounds.path { #expect(symlink("/", root + "/Link") == 0) }
        for path in [try TaskPath("Work/a.md"), try TaskPath("Link/a.md")] {
            #expect(code { _ = try grounds.folder.stamp(path) } == .blockedParent)
            #expect(code { _ = try grounds.folder.read(path) } == .blockedParent)
            #expect(code { _ = try grounds.write(path.string, "x", .absent) } == .blockedParent)
        }
    }

    @Test(arguments: DiskKind.allCases) func `a snapshot reports whether the file changed while it was read`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("X.files/a.bin", "one")
        let path = try TaskPath("X.files/a.bin")
        let snapshot = try grounds.folder.openSnapshot(path)
        #expect(try snapshot.descriptor.read(10, at: 0) == bytes("one"))
        #expect(try snapshot.isUnchanged())
        let stamp = snapshot.stamp
        #expect(try stamp == grounds.stamp("X.files/a.bin"))
        try grounds.save("X.files/a.bin", "three")
        #expect(try !snapshot.isUnchanged())
    }

    @Test(arguments: DiskKind.allCases) func `a snapshot of a file that is removed stays readable`(kind: DiskKind)
        throws
    {
        let grounds = try Grounds(kind)
        try grounds.save("X.files/a.bin", "one")
        let snapshot = try grounds.folder.openSnapshot(TaskPath("X.files/a.bin"))
        try grounds.user.remove("X.files/a.bin")
        #expect(try snapshot.descriptor.read(10, at: 0) == bytes("one"))
        #expect(try snapshot.isUnchanged())
    }

    @Test(arguments: DiskKind.allCases) func `an incoming file is placed, or stays where the place is taken`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("X.files/b.bin", "user")
        do {
            let file = try grounds.folder.openIncoming("t1")
            try file.write(bytes("half"))
        }
        let file = try grounds.folder.openIncoming("t1")
        #expect(try file.readAll() == bytes("half"))
        try file.write(bytes(" whole"))
        #expect(try grounds.folder.incomingNames() == ["t1"])
        let taken = try TaskPath("X.files/b.bin")
        #expect(
            try grounds.folder.placeIncoming("t1", at: taken, expecting: .absent)
                == .changed(grounds.stamp("X.files/b.bin")))
        #expect(try grounds.folder.incomingNames() == ["t1"])
        let outcome = try grounds.folder.placeIncoming("t1", at: TaskPath("Y.files/a.bin"), expecting: .absent)
        #expect(try outcome == .written(grounds.stamp("Y.files/a.bin")))
        #expect(try grounds.text("Y.files/a.bin") == "half whole")
        #expect(try grounds.folder.incomingNames() == [])
        try grounds.folder.removeIncoming("t1")
        #expect(code { _ = try grounds.folder.openIncoming("../x") } == .invalidName)
        #expect(try grounds.names("X.files") == ["b.bin"])
    }

    @Test(arguments: DiskKind.allCases) func `an incoming file takes the mode of the one that it replaces`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        let path = try TaskPath("X.files/run.sh")
        for (number, (isExecutable, mode)) in [(false, 0o640), (true, 0o750), (false, 0o750)].enumerated() {
            if number == 0 {
                try grounds.save(path.string, "old")
                try grounds.user.setMode(path.string, 0o640)
            }
            do { try grounds.folder.openIncoming("t1").write(bytes("new \(number)")) }
            let stamp = try #require(try grounds.folder.stamp(path))
            let file = IncomingFile(name: "t1", path: path, expecting: .stamp(stamp), isExecutable: isExecutable)
            let results = grounds.folder.placeIncoming([file])
            #expect(try results.first?.get() == .written(grounds.stamp(path.string)))
            #expect(try grounds.user.status(path.string).mode == UInt32(mode))
        }
        #expect(try grounds.text(path.string) == "new 2")
    }
}
