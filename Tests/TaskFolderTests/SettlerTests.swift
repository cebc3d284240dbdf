import SystemIO
import TaskFolder
import Testing

struct SettlerTests {
    private let watch: VirtualWatch
    private var disk: MemoryDisk { watch.disk }

    init() throws { watch = try VirtualWatch() }

    /// Creates a file that is reported before the test continues.
    private func establish(_ path: String) throws -> TaskPath {
        let path = try TaskPath(path)
        if !path.parent.isRoot { try disk.makeDirectories(path.parent.string) }
        try disk.save(path.string, bytes("old"))
        try watch.advance(.seconds(10))
        watch.clearLog()
        return path
    }

    private func changed(_ path: TaskPath) throws -> DebouncedChange {
        .changed(path, try #require(try watch.folder.stamp(path)))
    }

    @Test(arguments: MemoryDisk.SaveHabit.allCases)
    func `every habit of saving is one change within 10 ms and no delete`(habit: MemoryDisk.SaveHabit) throws {
        let path = try establish("Work/a.md")
        try disk.save("Work/a.md", bytes("new text"), habit: habit)
        try watch.advance(.milliseconds(10))
        #expect(watch.log == [try changed(path)])
        try watch.advance(.seconds(100))
        #expect(watch.log.count == 1)
    }

    @Test func `a delete counts after a second and not before`() throws {
        let path = try establish("a.md")
        try disk.remove("a.md")
        try watch.advance(.milliseconds(999))
        #expect(watch.log == [])
        try watch.advance(.milliseconds(1))
        #expect(watch.log == [.removed(path)])
    }

    @Test func `a writer that closes a deleted file does not make its delete count sooner`() throws {
        let path = try TaskPath("a.md")
        var debouncer = EventDebouncer()
        debouncer.handle(.removed(path), at: .zero)
        debouncer.handle(.closed(path), at: .milliseconds(10))
        for now in [Duration.milliseconds(18), .milliseconds(999), .seconds(1)] {
            for due in debouncer.duePaths(at: now) { debouncer.observe(due, .absent, at: now) }
            #expect(debouncer.take() == (now == .seconds(1) ? [.removed(path)] : []))
        }
    }

    @Test func `a file that is gone without an event to say so is given the same time`() throws {
        let path = try TaskPath("a.md")
        var debouncer = EventDebouncer()
        debouncer.handle(.closed(path), at: .zero)
        for now in [Duration.milliseconds(8), .milliseconds(1007), .milliseconds(1008)] {
            for due in debouncer.duePaths(at: now) { debouncer.observe(due, .absent, at: now) }
            #expect(debouncer.take() == (now == .milliseconds(1008) ? [.removed(path)] : []))
        }
    }

    @Test func `a delete that is undone in time is a change`() throws {
        let path = try establish("a.md")
        try disk.remove("a.md")
        try watch.advance(.milliseconds(990))
        try disk.save("a.md", bytes("again"))
        try watch.advance(.seconds(10))
        #expect(watch.log == [try changed(path)])
    }

    @Test func `a program that saves at each keystroke is reported every two seconds`() throws {
        _ = try establish("a.md")
        for count in 0..<1200 {
            try disk.save("a.md", bytes("text \(count)"), habit: .inPlace)
            try watch.advance(.milliseconds(5))
        }
        #expect((2...4).contains(watch.log.count), "\(watch.log.count)")
    }

    @Test func `a writer that does not close is reported when it pauses`() throws {
        let path = try establish("a.md")
        try disk.write("a.md", bytes("one"), closing: false)
        try watch.advance(.milliseconds(149))
        #expect(watch.log == [])
        try watch.advance(.milliseconds(1))
        #expect(watch.log == [try changed(path)])
    }

    @Test func `a long copy into the attachments is reported when it is done`() throws {
        try disk.makeDirectories("a.files")
        try watch.advance(.seconds(1))
        watch.clearLog()
        for count in 1...40 {
            try disk.write("a.files/big.iso", bytes(String(repeating: "x", count: count)), closing: false)
            try watch.advance(.milliseconds(500))
        }
        #expect(watch.log == [])
        try disk.write("a.files/big.iso", bytes("all of it"))
        try watch.advance(.milliseconds(8))
        #expect(watch.log == [try changed(TaskPath("a.files/big.iso"))])
    }

    @Test func `renames are moves, also in chains`() throws {
        let a = try establish("a.md")
        try disk.makeDirectories("Work")
        try watch.advance(.seconds(1))
        watch.clearLog()
        try disk.rename("a.md", to: "b.md", .replacing)
        try disk.rename("b.md", to: "Work/c.md", .replacing)
        try watch.advance(.milliseconds(8))
        let c = try TaskPath("Work/c.md")
        #expect(watch.log == [.moved(from: a, to: c, try #require(try watch.folder.stamp(c)), afterDelete: false)])
        try watch.advance(.seconds(10))
        #expect(watch.known == (try watch.files()))
    }

    @Test(arguments: [false, true])
    func `a move to a name tells whether the file there had been deleted`(isDeleted: Bool) throws {
        let (a, b) = (try establish("a.md"), try establish("b.md"))
        // A backup is no delete: the name is saved again.
        if isDeleted { try disk.remove("b.md") } else { try disk.rename("b.md", to: "b.md~", .exclusive) }
        try watch.advance(.milliseconds(4))
        try disk.rename("a.md", to: "b.md", .exclusive)
        try watch.advance(.milliseconds(8))
        let stamp = try #require(try watch.folder.stamp(b))
        #expect(watch.log == [.moved(from: a, to: b, stamp, afterDelete: isDeleted)])
    }

    @Test func `a file that is moved there and back has not moved`() throws {
        let path = try establish("a.md")
        try disk.rename("a.md", to: "b.md", .replacing)
        try disk.rename("b.md", to: "a.md", .replacing)
        try watch.advance(.milliseconds(8))
        #expect(watch.log == [try changed(path)])
    }

    @Test func `two files that change places through a third name are two changes`() throws {
        let (a, b) = (try establish("a.md"), try establish("b.md"))
        try disk.rename("a.md", to: "t.md", .replacing)
        try disk.rename("b.md", to: "a.md", .replacing)
        try disk.rename("t.md", to: "b.md", .replacing)
        try watch.advance(.milliseconds(8))
        #expect(Set(watch.log) == [try changed(a), try changed(b)])
        try watch.advance(.seconds(10))
        #expect(watch.log.dropFirst(2).allSatisfy { $0 == .removed(TaskPathOf("t.md")) }, "\(watch.log)")
    }

    @Test func `two files that are exchanged are two changes`() throws {
        let (a, b) = (try establish("a.md"), try establish("b.md"))
        try disk.rename("a.md", to: "b.md", .exchanging)
        try watch.advance(.seconds(10))
        #expect(Set(watch.log) == [try changed(a), try changed(b)])
    }

    @Test func `a new file under a name that was moved away comes after the move`() throws {
        let (a, b) = (try establish("a.md"), try TaskPath("b.md"))
        try disk.rename("a.md", to: "b.md", .replacing)
        try disk.write("b.md", bytes("still writing"), closing: false)
        try disk.save("a.md", bytes("another task"))
        try watch.advance(.seconds(10))
        #expect(
            watch.log == [
                .moved(from: a, to: b, try #require(try watch.folder.stamp(b)), afterDelete: false), try changed(a),
            ])
    }

    @Test func `what takes the name of a file that left for an unwatched directory comes after it`() throws {
        let (path, target) = (try TaskPath("a.md"), try TaskPath("New/a.md"))
        let time = FileTime(seconds: 1_700_000_000, nanoseconds: 0)
        let stamp = FileStamp(device: 1, inode: 2, size: 7, modified: time, changed: time)
        var debouncer = EventDebouncer()
        debouncer.handle(.movedFrom(path, cookie: 1), at: .zero)
        debouncer.handle(.found(target), at: .zero)
        debouncer.handle(.created(path), at: .milliseconds(1))
        debouncer.handle(.closed(path), at: .milliseconds(1))
        while let now = debouncer.nextDeadline {
            for due in debouncer.duePaths(at: now) { debouncer.observe(due, .file(stamp), at: now) }
        }
        #expect(debouncer.take() == [.changed(target, stamp), .changed(path, stamp)])
    }

    @Test func `a file that takes the name of one that left unseen is new where it is moved to`() throws {
        let (path, target) = (try TaskPath("a.md"), try TaskPath("b.md"))
        let time = FileTime(seconds: 1_700_000_000, nanoseconds: 0)
        let stamp = FileStamp(device: 1, inode: 2, size: 7, modified: time, changed: time)
        var debouncer = EventDebouncer()
        debouncer.handle(.movedFrom(path, cookie: 1), at: .zero)
        debouncer.handle(.created(path), at: .zero)
        debouncer.handle(.closed(path), at: .zero)
        debouncer.handle(.movedFrom(path, cookie: 2), at: .zero)
        debouncer.handle(.movedTo(target, cookie: 2), at: .zero)
        while let now = debouncer.nextDeadline {
            for due in debouncer.duePaths(at: now) {
                debouncer.observe(due, due == path ? .absent : .file(stamp), at: now)
            }
        }
        #expect(debouncer.take() == [.changed(target, stamp), .movedAway(path)])
    }

    /// Checks the reports of a move from a to b, and then of another file that comes to a and moves
    /// on to c.
    @Test(arguments: [(Duration.zero, true), (.zero, false), (.seconds(61), true)])
    func `a move by the reader is a change, and another file with the old name is moved separately`(
        wait: Duration, isMade: Bool
    ) throws {
        let (a, b, c) = (try TaskPath("a.md"), try TaskPath("b.md"), try TaskPath("c.md"))
        let time = FileTime(seconds: 1_700_000_000, nanoseconds: 0)
        let stamp = FileStamp(device: 1, inode: 2, size: 7, modified: time, changed: time)
        var debouncer = EventDebouncer()
        debouncer.expectMove(a, to: b, at: .zero)
        if !isMade { debouncer.forgetMove(a, to: b) }
        for cookie: UInt32 in [1, 2] {
            // The second move was not announced.
            debouncer.handle(.movedFrom(a, cookie: 10 * cookie), at: wait)
            debouncer.handle(.movedTo(b, cookie: 10 * cookie), at: wait)
            debouncer.handle(.movedTo(a, cookie: 10 * cookie + 1), at: wait)
            debouncer.handle(.movedFrom(a, cookie: 10 * cookie + 2), at: wait)
            debouncer.handle(.movedTo(c, cookie: 10 * cookie + 2), at: wait)
            while let now = debouncer.nextDeadline {
                for due in debouncer.duePaths(at: now) {
                    debouncer.observe(due, due == a ? .absent : .file(stamp), at: now)
                }
            }
            let isExpected = isMade && wait < .seconds(60) && cookie == 1
            #expect(
                debouncer.take().first
                    == (isExpected ? .changed(b, stamp) : .moved(from: a, to: b, stamp, afterDelete: false)))
        }
    }

    @Test func `a file that leaves for an ignored name is a delete, and one that comes is new`() throws {
        let path = try establish("a.md")
        try disk.rename("a.md", to: "a.md~", .replacing)
        try watch.advance(.seconds(1))
        #expect(watch.log == [.removed(path)])
        try disk.rename("a.md~", to: "b.md", .replacing)
        try watch.advance(.milliseconds(8))
        #expect(watch.log.last == (try changed(TaskPath("b.md"))))
    }

    @Test func `a directory moves with what is in it and what is about to change in it`() throws {
        let path = try establish("Work/Deep/a.md")
        try disk.save("Work/Deep/a.md", bytes("edited"))
        try disk.rename("Work", to: "Job", .replacing)
        try disk.save("Job/Deep/b.md", bytes("new"))
        try watch.advance(.seconds(10))
        let (work, job) = (try TaskPath("Work"), try TaskPath("Job"))
        #expect(watch.log.first == .directoryMoved(from: work, to: job))
        #expect(
            Set(watch.log.dropFirst()) == [
                try changed(path.moved(from: work, to: job)), try changed(TaskPath("Job/Deep/b.md")),
            ])
        #expect(watch.known == (try watch.files()))
    }

    @Test func `a directory that is removed takes its files along after a second`() throws {
        let path = try establish("Work/a.md")
        try disk.removeTree("Work")
        try watch.advance(.milliseconds(990))
        #expect(watch.log == [])
        try watch.advance(.milliseconds(20))
        #expect(Set(watch.log) == [.removed(path), .directoryRemoved(path.parent)])
    }

    @Test func `a file in the place of a removed directory is not a change of a task`() throws {
        try disk.makeDirectories("Diary")
        let path = try establish("Diary/a.md")
        try disk.remove("Diary/a.md")
        try disk.removeDirectory("Diary")
        try disk.save("Diary", bytes("private"))
        try watch.advance(.seconds(10))
        #expect(watch.log.filter { $0 != .obstructed(path, origin: nil) } == [.directoryRemoved(try TaskPath("Diary"))])
    }

    @Test func `a link in the place of a directory is found by a scan, and its removal is told`() throws {
        let path = try establish("Work/a.md")
        try disk.rename("Work", to: ".Work", .replacing)
        try disk.makeLink("Work")
        try watch.advance(.seconds(2))
        #expect(watch.log.contains(.rescanNeeded(.replaced)) && !watch.log.contains(.removed(path)))
        let scan = try watch.folder.scan(.watch) { _ in }
        #expect(scan.problems.map(\.path) == [path.parent.string])
        try disk.remove("Work")
        try watch.advance(.seconds(2))
        #expect(watch.log.last == .directoryRemoved(path.parent))
    }

    @Test func `a directory that another Ferry begins to sync is reported while it does`() throws {
        let path = try establish("Work/a.md")
        try disk.makeDirectories("Work/.ferry")
        try watch.advance(.seconds(2))
        let problems = watch.log.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
        #expect(problems.map(\.kind) == [.otherSync] && problems.map(\.path) == [path.parent.string])
        #expect(watch.log.count == 1)
    }

    @Test(arguments: [
        ("N/In/0.md", "M", "M/In/0.md", "N"), ("A/N/0.md", "M", "M/0.md", "A/N"), ("N/0.md", "A/M", "A/M/0.md", "N"),
        ("N/0.md", "M", "M/1.md", nil), ("0.md", "M", "M/0.md", nil), ("XN/0.md", "M", "M/N/0.md", nil),
        ("N/0.md", "M", "L/0.md", nil),
    ]) func `where a directory was is seen by what is in it`(known: String, now: String, file: String, was: String?)
        throws
    {
        let former = try TaskPath(known).counterpart(of: TaskPath(now), above: TaskPath(file))
        #expect(former?.string == was)
    }

    @Test func `a directory that leaves the tree is removed as a whole, and its later changes are ignored`() throws {
        let path = try establish("Work/a.md")
        try disk.rename("Work", to: ".Work", .replacing)
        try watch.advance(.seconds(2))
        #expect(watch.log == [.directoryRemoved(path.parent)])
        try disk.save(".Work/b.md", bytes("x"))
        try disk.save("c.md", bytes("x"))
        try watch.advance(.seconds(2))
        watch.clearLog()
        try disk.save(".Work/d.md", bytes("x"))
        try watch.advance(.seconds(2))
        #expect(watch.log == [])
        #expect(watch.known == (try watch.files()))
    }

    @Test func `a directory that is back after it left the tree is watched`() throws {
        let path = try establish("Work/a.md")
        try disk.rename("Work", to: ".Work", .replacing)
        try watch.advance(.seconds(2))
        try disk.rename(".Work", to: "Work", .replacing)
        try watch.advance(.seconds(2))
        watch.clearLog()
        try disk.save("Work/b.md", bytes("x"))
        try watch.advance(.seconds(2))
        let files = try watch.files()
        #expect(watch.log.count == 1 && watch.known == files && files.count == 2 && files[path] != nil)
    }

    @Test func `a file whose new directory cannot be entered has moved, and is not removed`() throws {
        let path = try establish("a.md")
        try disk.makeDirectories("Work")
        try watch.advance(.seconds(2))
        watch.clearLog()
        let new = try TaskPath("Work/a.md")
        try disk.rename("a.md", to: new.string, .replacing)
        try disk.rename("Work", to: ".Work", .replacing)
        try disk.makeLink("Work")
        try watch.advance(.seconds(2))
        #expect(watch.log.contains(.obstructed(new, origin: path)))
        #expect(!watch.log.contains { $0 == .removed(path) || $0 == .movedAway(path) })
    }

    @Test func `files that were there before the watch of their new directory are found`() throws {
        try disk.makeDirectories("New/Deep")
        try disk.save("New/Deep/a.md", bytes("x"))
        try disk.makeDirectories("New/Deep/a.files")
        try disk.save("New/Deep/a.files/p.png", bytes("x"))
        try watch.advance(.milliseconds(30))
        #expect(watch.known == (try watch.files()) && watch.known.count == 2)
        #expect(
            watch.log.prefix(3).map { "\($0)" }.sorted()
                == ["New", "New/Deep", "New/Deep/a.files"].map {
                    "\(DebouncedChange.directoryAppeared(TaskPathOf($0)))"
                })
    }

    @Test func `an overflow requires a scan, and a file that the scan misses is deleted after a second`() throws {
        let path = try establish("a.md")
        disk.setQueueLimit(10)
        for number in 0..<20 { try disk.save("n\(number).md", bytes("x")) }
        try disk.remove("a.md")
        try watch.advance(.milliseconds(500))
        #expect(watch.log.contains(.rescanNeeded(.overflow)))
        #expect(watch.known[path] != nil)
        try watch.advance(.milliseconds(600))
        #expect(watch.log.last == .movedAway(path))
        #expect(watch.known == (try watch.files()) && watch.known.count == 20)
    }

    @Test func `a directory of whose rename one half was lost is watched under its new name`() throws {
        let path = try establish("Work/a.md")
        disk.setQueueLimit(1)
        try disk.rename("Work", to: "Home", .exclusive)
        try watch.advance(.seconds(2))
        disk.setQueueLimit(16_384)
        let new = try TaskPath("Home/a.md")
        #expect(watch.known[new] != nil && watch.known[path] == nil)
        try disk.save("Home/a.md", bytes("more"))
        try watch.advance(.seconds(1))
        try disk.remove("Home/a.md")
        try watch.advance(.seconds(2))
        #expect(watch.log.last == .removed(new))
        #expect(watch.known.isEmpty)
    }

    @Test func `a file that a rename of its directory brings back to its name is reported`() throws {
        _ = try establish("A/x.md")
        try disk.makeDirectories("B")
        try watch.advance(.zero)
        for (from, to) in [("A/x.md", "B/x.md"), ("A", "B 2"), ("B/x.md", "B 2/x.md")] {
            try disk.rename(from, to: to, .exclusive)
            try watch.advance(.zero)
        }
        try disk.removeDirectory("B")
        try disk.rename("B 2", to: "B", .exclusive)
        try watch.advance(.milliseconds(20))
        #expect(watch.known == (try watch.files()))
        #expect(watch.debouncer.nextDeadline.map { $0 > watch.now + .milliseconds(500) } ?? true)
        watch.clearLog()
        try disk.save("B/x.md", bytes("more"))
        try watch.advance(.milliseconds(20))
        #expect(watch.log == [try changed(TaskPath("B/x.md"))])
    }

    @Test func `a file that is replaced under the name that it has just got is gone`() throws {
        let first = try establish("a.md")
        _ = try establish("b.md")
        try disk.rename("a.md", to: "c.md", .exclusive)
        try disk.rename("b.md", to: "c.md", .replacing)
        try watch.advance(.seconds(3))
        #expect(watch.log.contains(.removed(first)))
        #expect(watch.known == (try watch.files()) && watch.known.count == 1)
    }

    @Test func `more changes than fit in memory are given up for a scan`() throws {
        var times = SettleTimes()
        times.limit = 100
        let watch = try VirtualWatch(times: times)
        for number in 0..<500 { try watch.disk.save("n\(number).md", bytes("x")) }
        try watch.advance(.seconds(10))
        #expect(watch.log.contains(.rescanNeeded(.tooManyChanges)))
        #expect(watch.known == (try watch.files()) && watch.known.count == 500)
    }

    @Test func `scans requested before one is made are one, after all changes seen meanwhile`() throws {
        let (first, second) = (try TaskPath("a"), try TaskPath("b"))
        var debouncer = EventDebouncer()
        debouncer.handle(.rescanNeeded(.unreadable), at: .zero)
        debouncer.handle(.directoryAppeared(first), at: .zero)
        debouncer.handle(.rescanNeeded(.unreadable), at: .zero)
        debouncer.handle(.rescanNeeded(.overflow), at: .zero)
        debouncer.handle(.directoryAppeared(second), at: .zero)
        debouncer.handle(.rescanNeeded(.notWatched), at: .zero)
        // Directories that are taken later need a scan of their own.
        #expect(debouncer.take(5) == [.directoryAppeared(first), .rescanNeeded(.overflow), .directoryAppeared(second)])
        #expect(debouncer.take() == [.rescanNeeded(.notWatched)])
        #expect(debouncer.take().isEmpty)
    }

    @Test func `a directory that takes the place of a task is not a delete`() throws {
        let path = try establish("a.md")
        try disk.remove("a.md")
        try disk.makeDirectories("a.md")
        try watch.advance(.seconds(10))
        let problem = FolderProblem(
            .directoryNamedAsTask, path: "a.md", "a directory named as a task file is left alone; rename it")
        #expect(watch.log == [.problem(problem), .obstructed(path, origin: nil)])
    }

    @Test func `a root that is moved away is reported`() throws {
        let path = "/tmp/ferry-test-" + SystemRandom.hex(8)
        try FileSystem.makeDirectories(path)
        let folder = DirectoryTaskFolder(path: path)
        try folder.startWatching()
        _ = try folder.scan(.watch) { _ in }
        try FileSystem.rename(path, to: path + "-away")
        #expect(try folder.takeEvents() == [.rootChanged])
        try FileSystem.removeTree(path + "-away")
        #expect(try folder.takeEvents().allSatisfy { $0 == .rootChanged })
    }

    /// Checks random acts of users and programs at any pace: in the end the reader knows the files
    /// on the disk, no delete of an existing file was ever reported, and each reported delete was
    /// at least a second old.
    @Test(arguments: Array(1...150) as [UInt64]) func `after any events, the reader's state matches the disk`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed)
        let watch = try VirtualWatch()
        if seed % 5 == 0 { watch.disk.setQueueLimit(30) }
        if seed % 7 == 0 { watch.disk.setWatchLimit(3) }
        var story: [String] = []
        for _ in 0..<60 {
            let step = Chaos.step(&random, watch.disk)
            story.append(step)
            if Bool.random(using: &random) {
                let pause = Duration.milliseconds([1, 5, 20, 200, 1500].randomElement(using: &random) ?? 1)
                let before = watch.log.count
                try watch.advance(pause)
                story.append("wait \(pause)")
                for change in watch.log.dropFirst(before) {
                    let gone: TaskPath? =
                        switch change {
                        case .removed(let path), .movedAway(let path): path
                        default: nil
                        }
                    if let path = gone, watch.known[path] != nil {
                        Issue.record("seed \(seed): \(path) was told twice\n\(story)")
                    }
                }
            }
        }
        try watch.advance(.seconds(70))
        // If not everything is watched, a reader scans from time to time.
        try watch.rescan()
        try watch.advance(.seconds(2))
        let files = try watch.files()
        #expect(watch.known == files, "seed \(seed): \(story.joined(separator: "; "))")
        #expect(watch.debouncer.count == 0 && watch.debouncer.nextDeadline == nil)
    }
}

private func TaskPathOf(_ string: String) -> TaskPath { (try? TaskPath(string)) ?? .root }

/// Random acts of a user.
enum Chaos {
    private static let names = ["a.md", "b.md", "c.md", "Work/a.md", "Work/b.md", "Job/a.md", "Work/Deep/a.md"]
    private static let attachments = ["a.files/x", "Work/a.files/x", "Job/a.files/y"]
    private static let directories = ["Work", "Job", "Work/Deep", "a.files", ".away", "Work/a.files", "Job/a.files"]

    /// Makes a random change, which may fail, and returns its description.
    static func step(_ random: inout SeededRandom, _ disk: MemoryDisk) -> String {
        let file = (names + attachments).randomElement(using: &random) ?? "a.md"
        let other = (names + attachments + ["a.md~", ".x"]).randomElement(using: &random) ?? "b.md"
        let directory = directories.randomElement(using: &random) ?? "Work"
        let target = directories.randomElement(using: &random) ?? "Job"
        let text = bytes(String(repeating: "x", count: Int.random(in: 0...3, using: &random)))
        let habit = MemoryDisk.SaveHabit.allCases.randomElement(using: &random) ?? .inPlace
        do {
            switch Int.random(in: 0..<14, using: &random) {
            case 0...3:
                try disk.save(file, text, habit: habit)
                return "save \(file) \(habit) \(text.count)"
            case 4:
                try disk.write(file, text, closing: false)
                return "write \(file)"
            case 5, 6:
                try disk.rename(file, to: other, .replacing)
                return "mv \(file) \(other)"
            case 7:
                try disk.rename(file, to: other, .exchanging)
                return "exchange \(file) \(other)"
            case 8:
                try disk.remove(file)
                return "rm \(file)"
            case 9, 10:
                try disk.makeDirectories(directory)
                return "mkdir \(directory)"
            case 11:
                try disk.removeTree(directory)
                return "rm -r \(directory)"
            case 12:
                try disk.copy(file, to: other)
                return "cp \(file) \(other)"
            default:
                try disk.rename(directory, to: target, .replacing)
                return "mv \(directory) \(target)"
            }
        } catch {
            return "-"
        }
    }
}
