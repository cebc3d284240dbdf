import Glibc
import Synchronization
import SystemIO
import TaskFolder
import Testing

/// Tests of disk failures, and of edits at the worst moment.
@Suite(.timeLimit(.minutes(1)))
struct FaultTests {
    private let disk = MemoryDisk()
    private let folder: MemoryTaskFolder
    private let path: TaskPath

    init() throws {
        folder = MemoryTaskFolder(disk: disk)
        path = try TaskPath("a.md")
        try disk.save("a.md", bytes("base"))
    }

    private func write(_ text: String, _ expecting: FileExpectation) throws -> WriteOutcome {
        try folder.write([FolderWrite(path: path, bytes: bytes(text), expecting: expecting)])[0].get()
    }

    private func stamp() throws -> FileStamp { try #require(try folder.stamp(path)) }

    private func text() throws -> String { String(decoding: try folder.read(path).bytes, as: UTF8.self) }

    private var names: [String] { disk.contents().keys.map(\.string).sorted() }

    /// Runs `act` right before the `count`th call of `operation`.
    private func before(_ operation: String, _ count: Int = 1, act: @escaping @Sendable (MemoryDisk) throws -> Void) {
        let left = Counter(count)
        disk.setFault { [disk] name, _ in
            if name == operation, left.countDown() {
                disk.setFault(nil)
                try? act(disk)
            }
            return nil
        }
    }

    @Test func `an edit between the last check and the exchange is found and kept`() throws {
        let read = try stamp()
        before("rename") { try $0.save("a.md", bytes("edited")) }
        let outcome = try write("merged", .stamp(read))
        #expect(try outcome == .changed(stamp()))
        #expect(try text() == "edited" && names == ["a.md"])
    }

    @Test(arguments: MemoryDisk.SaveHabit.allCases)
    func `the text of any kind of editor is kept`(habit: MemoryDisk.SaveHabit) throws {
        let read = try stamp()
        before("rename") { try $0.save("a.md", bytes("edited"), habit: habit) }
        guard case .changed = try write("merged", .stamp(read)) else {
            Issue.record("written over an edit")
            return
        }
        #expect(try text() == "edited" && names == ["a.md"])
    }

    /// If the write did not count as done, a value that the user then removes from the file would
    /// not be recognized as removed.
    @Test func `a write counts as done if the directory of the file is renamed just then`() throws {
        try disk.makeDirectories("Work")
        try disk.save("Work/b.md", bytes("base"))
        let path = try TaskPath("Work/b.md")
        before("remove") { try $0.rename("Work", to: "Office", .exclusive) }
        let write = FolderWrite(
            path: path, bytes: bytes("merged"), expecting: .stamp(try #require(try folder.stamp(path))))
        guard case .written(let stamp) = try folder.write([write])[0].get() else {
            Issue.record("not written")
            return
        }
        let moved = try TaskPath("Office/b.md")
        #expect(try folder.stamp(moved)?.hasContent(of: stamp) == true)
        #expect(try folder.read(moved).bytes == bytes("merged"))
        // The displaced file is moved to `.ferry/recovered` by the next start.
        _ = try folder.scan(.watch) { _ in }
        #expect(try folder.recoveredNames().count == 1)
    }

    @Test func `of two edits around the exchange the later one is kept and the first is returned`() throws {
        let read = try stamp()
        // The first edit comes before the exchange, the second before the exchange is undone.
        before("rename") { disk in
            try disk.save("a.md", bytes("first"))
            disk.setFault { name, path in
                if name == "examine", path.hasSuffix(".tmp") {
                    disk.setFault(nil)
                    try? disk.save("a.md", bytes("second"), habit: .renamingOver)
                }
                return nil
            }
        }
        guard case .overtaken(let written, let saved) = try write("merged", .stamp(read)) else {
            Issue.record("one of the edits is not told")
            return
        }
        #expect(try text() == "second" && saved == bytes("first"))
        #expect(try !stamp().hasContent(of: written))
        let aside = disk.contents().filter { $0.key.string.hasPrefix(".ferry/recovered/") }.values
        #expect(aside.map { $0 } == [bytes("first")])
    }

    @Test func `an edit just before a write is returned if the file is moved away just after it`() throws {
        let read = try stamp()
        before("rename") { disk in
            try disk.save("a.md", bytes("edited"))
            disk.setFault { name, path in
                if name == "examine", path.hasSuffix(".tmp") {
                    disk.setFault(nil)
                    try? disk.rename("a.md", to: "b.md", .exclusive)
                }
                return nil
            }
        }
        guard case .overtaken(let written, let saved) = try write("merged", .stamp(read)) else {
            Issue.record("the edit has taken the place of what was moved")
            return
        }
        #expect(saved == bytes("edited"))
        #expect(try folder.stamp(path) == nil)
        #expect(try folder.stamp(TaskPath("b.md"))?.isFile(of: written) == true)
    }

    @Test func `a file that is deleted before the exchange is not brought back`() throws {
        let read = try stamp()
        before("rename") { try $0.remove("a.md") }
        #expect(try write("merged", .stamp(read)) == .changed(nil))
        #expect(names == [])
    }

    @Test func `a file that is put in the place of one that is about to move stays there`() throws {
        let read = try stamp()
        try disk.write("b.md", bytes("other"))
        let other = try TaskPath("b.md")
        _ = try folder.setMark(other, to: FileMark(task: "other"), of: #require(try folder.stamp(other)))
        before("rename") { try $0.rename("b.md", to: "a.md", .replacing) }
        guard case .changed(.some) = try folder.move(path, to: TaskPath("c.md"), expecting: .stamp(read)) else {
            Issue.record("moved another file")
            return
        }
        #expect(try text() == "other" && names == ["a.md"])
    }

    @Test func `a move out of a directory that is renamed just then succeeds`() throws {
        let (source, target) = (try TaskPath("Work/b.md"), try TaskPath("b.md"))
        try disk.makeDirectories("Work")
        try disk.write("Work/b.md", bytes("other"))
        let read = try #require(try folder.stamp(source))
        disk.setFault { [disk] name, path in
            guard name == "write to disk", path == "Work" else { return nil }
            disk.setFault(nil)
            try? disk.rename("Work", to: "Office", .exclusive)
            return nil
        }
        guard case .moved(let stamp) = try folder.move(source, to: target, expecting: .stamp(read)) else {
            Issue.record("not moved")
            return
        }
        #expect(try stamp == #require(try folder.stamp(target)))
    }

    @Test func `a new file that takes the name of one that was moved a moment ago stays there`() throws {
        let (read, target) = (try stamp(), try TaskPath("c.md"))
        before("rename") { [disk] _ in
            disk.setFault { name, path in
                if name == "examine", path == "c.md" {
                    disk.setFault(nil)
                    try? disk.rename("c.md", to: "d.md", .exclusive)
                    try? disk.write("c.md", bytes("new"))
                }
                return nil
            }
        }
        #expect(try folder.move(path, to: target, expecting: .stamp(read)) == .moved(read))
        #expect(names == ["c.md", "d.md"])
        #expect(try folder.read(target).bytes == bytes("new"))
    }

    @Test func `an edit right after a write is not taken for its echo`() throws {
        let read = try stamp()
        // The last call of a write examines the path again.
        let looks = Counter(1000)
        disk.setFault { [disk] name, path in
            if name == "examine", path == "a.md", looks.value == 0 {
                disk.setFault(nil)
                try? disk.save("a.md", bytes("edited right after"))
            }
            if name == "remove" { looks.value = 0 }
            return nil
        }
        guard case .written(let echo) = try write("merged", .stamp(read)) else {
            Issue.record("refused")
            return
        }
        #expect(try stamp() != echo)
        #expect(try text() == "edited right after")
    }

    @Test func `on a full disk nothing is partly written and the file is kept`() throws {
        disk.setCapacity(disk.usedBytes + 10)
        let long = String(repeating: "x", count: 100)
        #expect(code { _ = try write(long, .anything) } == .noSpace)
        #expect(code { _ = try write(long, .stamp(stamp())) } == .noSpace)
        try disk.makeDirectories("L")
        let writes = try (0..<10).map {
            FolderWrite(path: try TaskPath("L/\($0).md"), bytes: bytes("1234"), expecting: .absent)
        }
        let results = folder.write(writes)
        let written = results.filter { (try? $0.get()) != nil }.count
        #expect(written == 2)
        #expect(names == ["L", "L/0.md", "L/1.md", "a.md"])
        #expect(try text() == "base")
        disk.setCapacity(.max)
        #expect(try write(long, .stamp(stamp())) == .written(stamp()))
    }

    private func writeToWork() throws -> [Result<WriteOutcome, FolderError>] {
        try disk.makeDirectories("Work")
        return folder.write(
            try ["Work/b.md", "Work/c.md"].map {
                FolderWrite(path: try TaskPath($0), bytes: bytes("new"), expecting: .absent)
            })
    }

    @Test func `a directory that is renamed between two new files is not recreated`() throws {
        before("write", 2) { try $0.rename("Work", to: "Home", .exclusive) }
        for result in try writeToWork() { #expect(code { _ = try result.get() } == .notFound) }
        #expect(!names.contains("Work"))
    }

    @Test func `new files whose directory gets another name before it is on the disk are written`() throws {
        before("write to disk") { try $0.rename("Work", to: "Home", .exclusive) }
        for result in try writeToWork() {
            guard case .written = try result.get() else {
                Issue.record("refused")
                continue
            }
        }
        #expect(names == ["Home", "Home/b.md", "Home/c.md", "a.md"])
    }

    @Test func `a file that replaced another is not reported as that one`() throws {
        try disk.save("b.md", bytes("other"))
        before("set the attribute of") { try $0.rename("b.md", to: "a.md", .replacing) }
        #expect(try folder.setMark(path, to: FileMark(task: "a"), of: stamp()) == nil)
        #expect(try folder.identifier(path) == nil)
    }

    @Test func `a failing flush of a batch writes nothing of it`() throws {
        disk.setFault { name, _ in name == "write to disk" ? 28 : nil }
        let writes = try (0..<10).map {
            FolderWrite(path: try TaskPath("n\($0).md"), bytes: bytes("1"), expecting: .absent)
        }
        for result in folder.write(writes) { #expect(code { _ = try result.get() } == .noSpace) }
        #expect(names == ["a.md"])
    }

    @Test func `a read-only disk has an error of its own`() throws {
        disk.setReadOnly(true)
        #expect(code { _ = try write("x", .anything) } == .readOnly)
        #expect(code { _ = try folder.move(path, to: TaskPath("b.md"), expecting: .anything) } == .readOnly)
        #expect(code { _ = try folder.trash([TrashItem(path: path, expecting: .anything)]) } == .readOnly)
        #expect(code { try folder.makeDirectory(TaskPath("New")) } == .readOnly)
        #expect(try text() == "base")
    }

    @Test func `an edit during a read makes it read again`() throws {
        before("examine after reading") { try $0.save("a.md", bytes("edited")) }
        let content = try folder.read(path)
        #expect(content == TaskFileContent(bytes: bytes("edited"), stamp: try stamp()))
    }

    @Test func `a file that never rests is not read`() throws {
        let edits = Counter(0)
        disk.setFault { [disk] name, _ in
            if name == "examine after reading" {
                edits.value += 1
                try? disk.save("a.md", bytes("edit \(edits.value)"))
            }
            return nil
        }
        #expect(code { _ = try folder.read(path) } == .unstable)
    }

    @Test(arguments: 0..<40) func `a power cut leaves the old text or the new one`(cut: Int) throws {
        disk.synchronizeAll()
        let read = try stamp()
        let calls = Counter(cut)
        disk.setFault { _, _ in calls.countDown() || calls.value < 0 ? 5 : nil }
        let outcome = try? write("new", .stamp(read))
        disk.setFault(nil)
        disk.losePower()
        #expect(["base", "new"].contains(try text()))
        if case .written = outcome { #expect(try text() == "new") }
        _ = try folder.scan(.watch) { _ in }
        #expect(names.filter { !$0.hasPrefix(".ferry") } == ["a.md"])
    }

    @Test func `what is to be on the disk is, also where its directory gets another name meanwhile`() throws {
        try disk.makeDirectories("Old")
        disk.synchronizeAll()
        try disk.write("Old/b.md", bytes("new"))
        disk.setFault { [disk] name, path in
            if name == "write to disk", path == "Old" {
                disk.setFault(nil)
                try? disk.rename("Old", to: "New", .exclusive)
            }
            return nil
        }
        #expect(folder.synchronize([try TaskPath("Old/b.md")]).isEmpty)
        disk.losePower()
        #expect(try folder.read(TaskPath("New/b.md")).bytes == bytes("new"))
    }

    @Test(arguments: 0..<40) func `a power cut loses no file that is moved, and no reported move`(cut: Int) throws {
        let names = (0..<6).map { "n\($0).md" }
        try disk.makeDirectories("Work")
        for name in names { try disk.write(name, bytes(name)) }
        disk.synchronizeAll()
        let calls = Counter(cut)
        disk.setFault { _, _ in calls.countDown() || calls.value < 0 ? 5 : nil }
        let results = folder.move(
            try names.map { FolderMove(try TaskPath($0), to: try TaskPath("Work/\($0)"), expecting: .anything) })
        disk.setFault(nil)
        disk.losePower()
        for (name, result) in zip(names, results) {
            let isMoved = try folder.stamp(TaskPath("Work/\(name)")) != nil
            #expect(try isMoved || folder.stamp(TaskPath(name)) != nil)
            if case .success(.moved) = result { #expect(isMoved) }
        }
    }

    @Test(arguments: 0..<60) func `a power cut during a batch leaves whole files only`(cut: Int) throws {
        disk.synchronizeAll()
        let calls = Counter(cut)
        disk.setFault { _, _ in calls.countDown() || calls.value < 0 ? 5 : nil }
        let writes = try (0..<6).map {
            FolderWrite(path: try TaskPath("n\($0).md"), bytes: bytes("whole"), expecting: .absent)
        }
        let results = folder.write(writes)
        disk.setFault(nil)
        disk.losePower()
        for (write, result) in zip(writes, results) {
            let content = try? folder.read(write.path).bytes
            #expect(content == nil || content == bytes("whole"))
            if case .success(.written) = result { #expect(content == bytes("whole")) }
        }
    }

    @Test func `too few watches are reported with the remedy, and scans take over`() async throws {
        try disk.makeDirectories("A/B/C")
        disk.setWatchLimit(2)
        try folder.startWatching()
        let scan = try folder.scan(.watch) { _ in }
        #expect(!scan.isWatched && !folder.isFullyWatched && scan.isComplete)
        #expect(scan.problems.map(\.kind) == [.watchLimit])
        #expect(scan.problems.first?.message.contains("needs 4 watches") == true)
        let changes = FolderChanges(folder, scanInterval: .milliseconds(1))
        #expect(try await changes.next() == [.rescanNeeded(.notWatched)])
        disk.setWatchLimit(100)
        _ = try folder.scan(.look) { _ in }
        #expect(!folder.isFullyWatched)
        _ = try folder.scan(.watch) { _ in }
        #expect(folder.isFullyWatched)
        try disk.save("A/B/C/x.md", bytes("x"))
        let x = try TaskPath("A/B/C/x.md")
        #expect(try await changes.next().contains(.changed(x, try #require(try folder.stamp(x)))))
    }

    @Test(arguments: DiskKind.allCases)
    func `a rename above a new directory before it is watched requires a scan`(kind: DiskKind)
        throws
    {
        let grounds = try Grounds(kind)
        try grounds.folder.startWatching()
        _ = try grounds.scan()
        try grounds.user.makeDirectories("Work")
        _ = try grounds.folder.takeEvents()
        try grounds.user.makeDirectories("Work/Sub")
        try grounds.user.rename("Work", to: "Other", .exclusive)
        #expect(try grounds.folder.takeEvents().contains(.rescanNeeded(.unreadable)))
    }

    @Test func `the kernel's limit of watches is named with its sysctl`() throws {
        // The test runs in a user namespace of its own, so that nothing else on the machine meets
        // the limit. This program is started again in it.
        guard Shell.has("unshare"), try Shell.status(of: "unshare -U -r true 2>/dev/null") == 0 else { return }
        var name = [CChar](repeating: 0, count: 4096)
        guard readlink("/proc/self/exe", &name, name.count - 1) > 0 else { return }
        let program = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let script = """
            echo 2 > /proc/sys/user/max_inotify_watches &&
            FERRY_WATCH_LIMIT=2 "$0" --testing-library swift-testing --filter "one watch too many" >/dev/null
            """
        #expect(try Shell.status(of: "unshare -U -r sh -c '\(script)' '\(program)'") == 0)
    }

    @Test func `one watch too many`() throws {
        guard getenv("FERRY_WATCH_LIMIT") != nil else { return }
        let root = "/tmp/ferry-test-" + SystemRandom.hex(8)
        try FileSystem.makeDirectories(root + "/a/b/c")
        defer { try? FileSystem.removeTree(root) }
        let folder = DirectoryTaskFolder(path: root)
        try folder.startWatching()
        let scan = try folder.scan(.watch) { _ in }
        #expect(!scan.isWatched)
        #expect(scan.problems.first?.message.contains("sudo sysctl fs.inotify.max_user_watches=") == true)
    }
}

/// A number that closures share.
final class Counter: Sendable {
    private let number: Mutex<Int>

    init(_ number: Int) { self.number = Mutex(number) }

    var value: Int {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }

    /// Decrements the number, and returns whether it has become zero.
    func countDown() -> Bool {
        number.withLock { number in
            number -= 1
            return number == 0
        }
    }
}
