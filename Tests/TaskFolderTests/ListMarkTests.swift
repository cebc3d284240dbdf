import SystemIO
import TaskFolder
import Testing

/// The marks of lists' directories, and mount points.
struct ListMarkTests {
    @Test(arguments: DiskKind.allCases) func `a mark belongs to one directory`(kind: DiskKind) throws {
        let grounds = try Grounds(kind)
        let (list, other) = (try TaskPath("Work"), try TaskPath("Home"))
        for path in [list, other] { try grounds.folder.makeDirectory(path) }
        #expect(try grounds.folder.listMark(list) == nil)
        try #require(try grounds.folder.setListMark(list, to: "a"), "the file system keeps no attributes")
        #expect(try grounds.folder.setListMark(list, to: "list/b"))
        #expect(try grounds.folder.listMark(list) == "list/b")
        #expect(try grounds.folder.listMark(other) == nil)
        try grounds.user.rename("Work", to: "Office", .exclusive)
        #expect(try grounds.folder.listMark(TaskPath("Office")) == "list/b")
        #expect(code { _ = try grounds.folder.listMark(list) } == .notFound)
        #expect(code { _ = try grounds.folder.setListMark(list, to: "c") } == .notFound)
        #expect(try grounds.folder.isMountPoint(other) == false)
    }

    @Test func `a mount point is one on both disks`() throws {
        let folder = DirectoryTaskFolder(path: "/")
        #expect(try folder.isMountPoint(TaskPath("proc")))
        #expect(try folder.isMountPoint(TaskPath("usr")) == false)
        let disk = MemoryDisk()
        try disk.makeDirectories("Work/Trips")
        let memory = MemoryTaskFolder(disk: disk)
        let directory = try disk.mount(over: "Work/Trips")
        #expect(try memory.isMountPoint(TaskPath("Work/Trips")))
        #expect(try memory.isMountPoint(TaskPath("Work")) == false)
        #expect(disk.unmount(directory))
        #expect(try memory.isMountPoint(TaskPath("Work/Trips")) == false)
    }
}
