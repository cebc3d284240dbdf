import SystemIO
import TaskFolder
import Testing

/// Tests of the time after which a file counts as empty.
struct EmptyFileTests {
    private let watch: VirtualWatch
    private var disk: MemoryDisk { watch.disk }

    init() throws { watch = try VirtualWatch() }

    private func changed(_ path: TaskPath) throws -> DebouncedChange {
        .changed(path, try #require(try watch.folder.stamp(path)))
    }

    @Test func `a new empty task settles at once`() throws {
        try disk.save("Buy milk.md", [])
        try watch.advance(.milliseconds(8))
        #expect(watch.log == [try changed(TaskPath("Buy milk.md"))])
    }

    @Test func `a known file that is empty now waits for its content`() throws {
        let path = try TaskPath("a.md")
        try disk.save("a.md", bytes("old"))
        try watch.advance(.seconds(10))
        watch.clearLog()
        try disk.save("a.md", [])
        try watch.advance(.milliseconds(900))
        #expect(watch.log == [])
        try disk.save("a.md", bytes("content"))
        try watch.advance(.milliseconds(8))
        #expect(watch.log == [try changed(path)])
        try disk.save("a.md", [])
        try watch.advance(.milliseconds(1010))
        #expect(watch.log.last == (try changed(path)) && watch.log.count == 2)
    }

    @Test func `a new file that was read before it settled waits for its content when it is empty`() throws {
        let path = try TaskPath("a.md")
        let time = FileTime(seconds: 1_700_000_000, nanoseconds: 0)
        let empty = EventDebouncer.Observation.file(
            FileStamp(device: 1, inode: 2, size: 0, modified: time, changed: time))
        for isRead in [false, true] {
            var debouncer = EventDebouncer()
            debouncer.handle(.created(path), at: .zero)
            if isRead { debouncer.handleRead(path) }
            for due in debouncer.duePaths(at: .milliseconds(500)) {
                debouncer.observe(due, empty, at: .milliseconds(500))
            }
            #expect(debouncer.take().isEmpty == isRead)
        }
    }

    @Test func `a new file that is saved once more waits for its content when it is empty`() throws {
        let path = try TaskPath("a.md")
        try disk.save("a.md", bytes("content"))
        try disk.write("a.md", [])
        try watch.advance(.milliseconds(900))
        #expect(watch.log == [])
        try disk.write("a.md", bytes("more content"))
        try watch.advance(.milliseconds(8))
        #expect(watch.log == [try changed(path)])
    }

    @Test(arguments: [false, true]) func `a renamed file that is empty waits for content only if it was just emptied`(
        wasEmptied: Bool
    ) throws {
        let path = try TaskPath("a.md")
        try disk.save("a.md", wasEmptied ? bytes("content") : [])
        try watch.advance(.seconds(10))
        watch.clearLog()
        if wasEmptied { try disk.write("a.md", []) }
        for name in ["b.md", "c.md"] {
            try disk.rename(name == "b.md" ? "a.md" : "b.md", to: name, .exclusive)
            try watch.advance(.milliseconds(4))
        }
        try watch.advance(.milliseconds(4))
        let target = try TaskPath("c.md")
        let moved = DebouncedChange.moved(
            from: path, to: target, try #require(try watch.folder.stamp(target)), afterDelete: false)
        #expect(watch.log == (wasEmptied ? [] : [moved]))
        try watch.advance(.milliseconds(1010))
        #expect(watch.log.contains(moved))
    }
}
