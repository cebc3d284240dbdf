import TaskFolder
import Testing

struct TrashTests {
    private func item(_ path: String, _ expecting: FileExpectation = .anything) throws -> TrashItem {
        TrashItem(path: try TaskPath(path), expecting: expecting)
    }

    private func trash(_ grounds: Grounds, _ items: [TrashItem]) throws -> TrashEntry {
        guard case .trashed(let entry) = try grounds.folder.trash(items) else {
            throw FolderError(.other, "refused")
        }
        return entry
    }

    @Test(arguments: DiskKind.allCases) func `a task and its attachments go to the trash`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work/X.md", "task")
        try grounds.save("Work/X.files/a.png", "png")
        let entry = try trash(grounds, [item("Work/X.md", .stamp(grounds.stamp("Work/X.md"))), item("Work/X.files")])
        #expect(try grounds.names("Work") == [])
        #expect(try grounds.scan().files == [])
        #expect(try grounds.folder.trashEntries() == [entry])
        #expect(try grounds.names(".ferry/trash/\(entry.name)").sorted() == ["X.files", "X.md", "origins"])
        #expect(entry.origins.map(\.string) == ["Work/X.md", "Work/X.files"])
    }

    @Test(arguments: DiskKind.allCases) func `a file that is not as expected stays`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        try grounds.save("b.md", "one")
        let old = try grounds.stamp("b.md")
        try grounds.save("b.md", "longer")
        let outcome = try grounds.folder.trash([item("a.md"), item("b.md", .stamp(old))])
        #expect(try outcome == .changed(TaskPath("b.md"), grounds.stamp("b.md")))
        #expect(try grounds.folder.trash([item("none.md")]) == .changed(TaskPath("none.md"), nil))
        #expect(try grounds.scan().files == ["a.md", "b.md"])
        #expect(try grounds.folder.trashEntries() == [])
    }

    @Test(arguments: DiskKind.allCases) func `a purge is permanent and may be repeated`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        try grounds.save("a.md", "one")
        try grounds.save("b.md", "two")
        let first = try trash(grounds, [item("a.md")])
        let second = try trash(grounds, [item("b.md")])
        #expect(try grounds.folder.trashEntries() == [first, second])
        try grounds.folder.purge(first)
        try grounds.folder.purge(first)
        #expect(try grounds.folder.trashEntries() == [second])
        #expect(code { try grounds.folder.purge(TrashEntry(name: "../..", origins: [])) } == .invalidName)
    }

    @Test(arguments: DiskKind.allCases) func `one file of a directory comes back where its name is free`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        try grounds.save("Work/X.md", "task")
        for name in ["a.png", "b.png"] { try grounds.save("Work/X.files/\(name)", name) }
        let stamp = try grounds.stamp("Work/X.files/b.png")
        let entry = try trash(grounds, [item("Work/X.md"), item("Work/X.files")])
        let folder = grounds.folder
        #expect(try folder.trashedFiles(entry).map(\.name) == ["a.png", "b.png"])
        #expect(try folder.trashedFiles(entry).last?.stamp.modified == stamp.modified)
        let target = try TaskPath("Old/Y.files/c.png")
        #expect(try !folder.takeFromTrash(entry, "c.png", to: target))
        #expect(try grounds.scan().files == [])
        #expect(try folder.takeFromTrash(entry, "a.png", to: target))
        #expect(try !folder.takeFromTrash(entry, "b.png", to: target))
        #expect(try grounds.names("Old/Y.files") == ["c.png"])
        #expect(try folder.trashedFiles(entry).map(\.name) == ["b.png"])
        for name in ["..", "../X.md", ""] {
            #expect(code { _ = try folder.takeFromTrash(entry, name, to: target) } == .invalidName)
        }
        try folder.purge(entry)
        #expect(try folder.trashedFiles(entry).isEmpty)
    }

    @Test(arguments: DiskKind.allCases) func `a save just before a move to the trash comes back`(
        kind: DiskKind
    ) throws {
        let grounds = try Grounds(kind)
        let folder = grounds.folder
        let path = try TaskPath("Work/X.md")
        // Whether the file system supports attributes is tested on the root's marker.
        try grounds.save(RootMarker.path, "root")
        try grounds.save("Work/X.md", "one")
        let known = try #require(try folder.setMark(path, to: FileMark(task: "x"), of: grounds.stamp("Work/X.md")))
        func takeBack() throws -> Bool {
            // A file whose directory is gone does not keep others from coming back.
            try folder.takeBackFromTrash([TaskPath("Gone/X.md"): known, path: known]) == [path]
        }
        _ = try trash(grounds, [item("Work/X.md")])
        #expect(try !takeBack())
        // The file is replaced by an editor, and then by a file of another task.
        try grounds.save("Work/X.md", "two")
        _ = try trash(grounds, [item("Work/X.md")])
        #expect(try takeBack())
        #expect(try folder.read(path).bytes == bytes("two"))
        #expect(try !takeBack())
        _ = try folder.setMark(path, to: FileMark(task: "x"), of: grounds.stamp("Work/X.md"))
        _ = try trash(grounds, [item("Work/X.md")])
        #expect(try !takeBack())
    }

    @Test func `an edit at the last moment takes the file back out of the trash`() throws {
        let disk = MemoryDisk()
        let folder = MemoryTaskFolder(disk: disk)
        try disk.save("a.md", bytes("one"))
        let stamp = try #require(try folder.stamp(TaskPath("a.md")))
        disk.setFault { operation, path in
            if operation == "rename", path == "a.md" {
                disk.setFault(nil)
                try? disk.save("a.md", bytes("edited"))
            }
            return nil
        }
        let outcome = try folder.trash([item("a.md", .stamp(stamp))])
        guard case .changed(let path, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(path.string == "a.md")
        #expect(try folder.read(path).bytes == bytes("edited"))
        #expect(try folder.trashEntries() == [])
    }
}
