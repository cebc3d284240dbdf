import Glibc
import SystemIO
import TaskFolder
import Testing

struct ScanTests {
    @Test(arguments: DiskKind.allCases)
    func `files of two directories with names of different Unicode form are distinct`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("B\u{FC}ro/a.md", "composed")
        try grounds.save("Bu\u{308}ro/b.md", "decomposed")
        let paths = try ["B\u{FC}ro/a.md", "Bu\u{308}ro/a.md", "B\u{FC}ro/b.md", "Bu\u{308}ro/b.md"].map {
            try TaskPath($0)
        }
        let isThere = try grounds.folder.stamps(paths).map { try $0.get() != nil }
        #expect(isThere == [true, false, false, true])
    }

    @Test(arguments: DiskKind.allCases) func `a scan gives task files and attachments and nothing else`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        for path in [
            "a.md", "Work/b.md", "Work/Deep/c.md", "Work/b.files/shot.png", "Work/b.files/notes.md", "notes.txt",
            ".hidden.md", "a.md~", ".a.md.swp", "#a.md#", ".#a.md", "4913", "x.crdownload", "Work/b.files/x.part",
            ".git/config.md", ".ferry/trash/x/old.md", "Work/.a/x.md",
        ] { try grounds.save(path, path) }
        let (files, scan) = try grounds.scan()
        #expect(
            files == ["Work/Deep/c.md", "Work/b.files/notes.md", "Work/b.files/shot.png", "Work/b.md", "a.md"])
        #expect(scan.lists.map(\.string).sorted() == ["Work", "Work/Deep"])
        #expect(scan.attachments.map(\.string) == ["Work/b.files"])
        #expect(scan.isComplete && scan.problems.isEmpty && scan.fileCount == 5)
        #expect(!scan.isWatched)
    }

    @Test(arguments: DiskKind.allCases) func `files that cannot be synced are reported, others synced`(kind: DiskKind)
        throws
    {
        let grounds = try Grounds(kind)
        try grounds.save("good.md", "x")
        try grounds.save("big.md", String(repeating: "x", count: TaskFileContent.limit + 1))
        try grounds.save("ctrl\u{7}.md", "x")
        try grounds.save("Case.md", "x")
        try grounds.save("case.md", "x")
        try grounds.save("é.md", "composed")
        try grounds.save("e\u{301}.md", "decomposed")
        try grounds.save("dir.md/inside.md", "x")
        try grounds.save("X.files/sub/y.png", "x")
        for name in ["Loud.MD", "Long.markdown", "X.files/Y.MD", "notes.txt", ".MD"] { try grounds.save(name, "x") }
        try grounds.user.makeDirectories(".stfolder")
        try grounds.user.makeDirectories("Shared/.ferry")
        if let path = grounds.path {
            #expect(symlink("/etc/passwd", path + "/link.md") == 0)
            #expect(symlink("/etc", path + "/linked") == 0)
            #expect(mkfifo(path + "/pipe.md", 0o600) == 0)
            let name: [CChar] = [0x62, -1, 0x2E, 0x6D, 0x64, 0]
            let raw = openat(AT_FDCWD, path, O_DIRECTORY)
            close(openat(raw, name, O_CREAT | O_WRONLY, 0o600))
            close(raw)
        } else {
            try grounds.memory?.makeLink("link.md")
            try grounds.memory?.makeLink("linked")
            try grounds.memory?.makePipe("pipe.md")
        }
        let (files, scan) = try grounds.scan()
        #expect(files.count == 7, "\(files)")
        #expect(scan.isComplete)
        var expected: [FolderProblem.Kind: Set<String>] = [
            .invalidName: ["ctrl\\x07.md"], .directoryNamedAsTask: ["dir.md"],
            .directoryInAttachments: ["X.files/sub"], .otherSync: [".stfolder", "Shared"],
            .symbolicLink: ["link.md", "linked"],
            .specialFile: ["pipe.md"], .otherEnding: ["Loud.MD", "Long.markdown"],
        ]
        if kind == .kernel { expected[.invalidName]?.insert("b\\xff.md") }
        for (kind, paths) in expected {
            #expect(Set(scan.problems.filter { $0.kind == kind }.map(\.path)) == paths, "\(scan.problems)")
        }
        #expect(scan.problems.filter { $0.kind == .nameClash }.count == 2)
    }

    @Test(arguments: DiskKind.allCases) func `two names of different Unicode form are two files`(kind: DiskKind) throws
    {
        let grounds = try Grounds(kind)
        _ = try grounds.write("é.md", "composed", .absent)
        _ = try grounds.write("e\u{301}.md", "decomposed", .absent)
        #expect(try grounds.text("é.md") == "composed")
        #expect(try TaskPath("é.md") != TaskPath("e\u{301}.md"))
        #expect(try Set([TaskPath("é.md"), TaskPath("e\u{301}.md")]).count == 2)
    }

    @Test func `beneath an unreadable directory nothing counts as absent`() throws {
        let disk = MemoryDisk()
        let folder = MemoryTaskFolder(disk: disk)
        try disk.makeDirectories("Work/Deep")
        try disk.save("Work/Deep/a.md", bytes("x"))
        try disk.save("b.md", bytes("x"))
        for mode in [0o000, 0o400, 0o100] as [UInt32] {
            try disk.setMode("Work", mode)
            var files: [String] = []
            let scan = try folder.scan(.watch) { files.append($0.path.string) }
            #expect(files == ["b.md"])
            #expect(!scan.isComplete && scan.unreadable.map(\.string) == ["Work"])
            #expect(scan.problems.map(\.kind) == [.unreadable])
        }
    }

    @Test func `a file whose status cannot be read makes its directory unknown`() throws {
        let disk = MemoryDisk()
        let folder = MemoryTaskFolder(disk: disk)
        try disk.makeDirectories("Work")
        try disk.save("Work/a.md", bytes("x"))
        disk.setFault { operation, path in operation == "list" && path == "Work" ? 5 : nil }
        let scan = try folder.scan(.watch) { _ in }
        #expect(!scan.isComplete)
    }

    @Test func `an unreadable directory of the real disk is unknown too`() throws {
        // Root can read every directory.
        guard geteuid() != 0 else { return }
        let grounds = try Grounds(.kernel)
        try grounds.save("Work/a.md", "x")
        try grounds.user.setMode("Work", 0)
        let scan = try grounds.scan().scan
        #expect(scan.unreadable.map(\.string) == ["Work"])
        try FileSystem.rename(try #require(grounds.path) + "/Work", to: try #require(grounds.path) + "/W2")
    }

    @Test(arguments: DiskKind.allCases) func `lists nested too deep are reported and unknown`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        let deep = Array(repeating: "d", count: 33).joined(separator: "/")
        try grounds.save(deep + "/a.md", "x")
        let (files, scan) = try grounds.scan()
        #expect(files.isEmpty && scan.problems.map(\.kind) == [.tooDeep])
        #expect(!scan.isComplete)
    }

    @Test(arguments: DiskKind.allCases) func `files that a crash left are recovered under unique names`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work/.ferry-0123456789abcdef.tmp", "the user's own, displaced")
        try grounds.save("Work/a.md", "x")
        _ = try grounds.scan(.look)
        #expect(try grounds.names("Work").count == 2)
        _ = try grounds.scan(.watch)
        #expect(try grounds.names("Work") == ["a.md"])
        let first = try #require(try grounds.folder.recoveredNames().first)
        #expect(try grounds.text(".ferry/recovered/\(first)") == "the user's own, displaced")
        try grounds.save("Work/.ferry-0123456789abcdef.tmp", "more")
        _ = try grounds.scan(.watch)
        let both = try grounds.folder.recoveredNames()
        #expect(Set(both).count == 2 && both.contains(first))
        #expect(try grounds.text(".ferry/recovered/\(first)") == "the user's own, displaced")
    }

    @Test(arguments: DiskKind.allCases) func `recovered files are removed one by one, a directory with its contents`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        #expect(try grounds.folder.recoveredNames() == [])
        try grounds.folder.removeRecovered("none")
        try grounds.save("Work/.ferry-0123456789abcdef.tmp/in/a.md", "a directory of that name")
        #expect(try grounds.folder.removeDirectoryIfEmpty(TaskPath("Work")))
        let directory = try #require(try grounds.folder.recoveredNames().first)
        #expect(try grounds.text(".ferry/recovered/\(directory)/in/a.md") == "a directory of that name")
        try grounds.save(".ferry/recovered/b", "words")
        try grounds.save("b", "another file")
        try grounds.folder.removeRecovered(directory)
        try grounds.folder.removeRecovered(directory)
        #expect(try grounds.folder.recoveredNames() == ["b"])
        for name in ["..", "../../b", ""] {
            #expect(code { try grounds.folder.removeRecovered(name) } == .invalidName)
        }
        try grounds.folder.removeRecovered("b")
        #expect(try grounds.folder.recoveredNames() == [])
        #expect(grounds.exists("b"))
    }
}
