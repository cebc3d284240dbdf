import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

@Suite struct FileIndexTests {
    @Test func `what is beneath a directory is found at any depth`() throws {
        var index = FileIndex()
        func set(_ path: String) throws {
            index.set(try TaskPath(path), FileIndex.Entry(task: TaskID(path), stamp: .none))
        }
        for path in ["a.md", "Work/a.md", "Work/Sub/Deep/a.md", "Workshop/a.md"] { try set(path) }
        #expect(index.paths(beneath: .root).count == 4)
        let inWork = index.paths(beneath: try TaskPath("Work")).map(\.string).sorted()
        #expect(inWork == ["Work/Sub/Deep/a.md", "Work/a.md"])
        #expect(index.paths(beneath: try TaskPath("Work/Sub")).map(\.string) == ["Work/Sub/Deep/a.md"])
        #expect(index.paths(beneath: try TaskPath("a.md")).map(\.string) == ["a.md"])
        for path in ["Work/a.md", "Work/Sub/Deep/a.md"] { index.remove(task: TaskID(path)) }
        #expect(index.paths(beneath: try TaskPath("Work")).isEmpty)
        try set("Work/Sub/b.md")
        #expect(index.paths(beneath: try TaskPath("Work")).map(\.string) == ["Work/Sub/b.md"])
        // Two directories, whose names differ in Unicode form only.
        for path in ["Caf\u{e9}/a.md", "Cafe\u{301}/b.md"] { try set(path) }
        index.remove(task: "Caf\u{e9}/a.md")
        #expect(index.paths(beneath: try TaskPath("Cafe\u{301}")).count == 1)
        #expect(index.paths(beneath: try TaskPath("Caf\u{e9}")).isEmpty)
    }

    /// Numbers of files are given to new ones: the known one that had it before has gone, though nobody has been told yet.
    @Test(arguments: [[4, 5], [5, 4]])
    func `of two known files of one number the one that changed last is there`(order: [Int64]) throws {
        let index = FileIndex(
            try order.map { seconds in
                var stamp = FileStamp.none
                stamp.changed.seconds = seconds
                return (try TaskPath("\(seconds).md"), FileIndex.Entry(task: TaskID("\(seconds)"), stamp: stamp))
            })
        #expect(index.path(withInodeOf: .none)?.string == "5.md")
    }
}
