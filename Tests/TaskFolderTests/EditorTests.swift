import Glibc
import SystemIO
import TaskFolder
import Testing

/// Tests with real programs on the real disk: each save is one change of the known path and never a
/// delete.
@Suite(.timeLimit(.minutes(1)))
struct EditorTests {
    /// Shell commands that save `a.md` once, and the programs that they need.
    static let saves: [(program: String, script: String)] = [
        ("sh", "echo changed > a.md"),
        ("sh", "echo changed >> a.md"),
        ("sh", "cat a.md > a.md~ && echo changed > .a.md.swp && mv .a.md.swp a.md"),
        ("sh", "mv a.md a.md~ && echo changed > a.md && rm a.md~"),
        ("sh", "rm a.md && echo changed > a.md"),
        ("sh", ": > a.md && sleep 0.05 && echo changed > a.md"),
        ("sh", "echo changed > ../outside && mv ../outside a.md"),
        ("sed", "sed -i s/old/changed/ a.md"),
        ("perl", "perl -pi -e s/old/changed/ a.md"),
        ("cp", "echo changed > ../outside && cp ../outside a.md"),
        ("vim", "vim -es -u NONE -c 'set backup writebackup backupcopy=no' -c '%s/old/changed/' -c wq a.md"),
        ("vim", "vim -es -u NONE -c 'set backupcopy=yes' -c '%s/old/changed/' -c wq a.md"),
        ("vim", "vim -es -u NONE -c 'set nobackup nowritebackup' -c '%s/old/changed/' -c wq a.md"),
        ("python3", "python3 -c \"open('a.md','w').write('changed')\""),
    ]

    @Test(arguments: saves.indices) func `a save is one change`(index: Int) async throws {
        let (program, script) = EditorTests.saves[index]
        guard Shell.has(program) else { return }
        let grounds = try WatchedGrounds()
        try await grounds.establish("Work/a.md", "old\n")
        try Shell.run("cd '\(grounds.root)/Work' && \(script)")
        let path = try TaskPath("Work/a.md")
        let changes = try await grounds.changes { $0.contains { $0.path == path } }
        #expect(changes == [.changed(path, try #require(try grounds.folder.stamp(path)))], "\(script)")
        #expect(try grounds.text("Work/a.md").contains("changed"))
        // If a delete of the file were still to come, it would come before the end of another
        // file's delete.
        try await grounds.establish("Work/last.md", "x")
        try Shell.run("rm '\(grounds.root)/Work/last.md'")
        let last = try TaskPath("Work/last.md")
        let later = try await grounds.changes { $0.contains(.removed(last)) }
        #expect(!later.contains(.removed(path)), "\(script)")
    }

    @Test func `moves and copies of a shell are reported as such`() async throws {
        let grounds = try WatchedGrounds()
        try await grounds.establish("Work/a.md", "old\n")
        let before = try #require(try grounds.folder.stamp(TaskPath("Work/a.md")))
        let b = try TaskPath("Job/b.md")
        try Shell.run("mkdir '\(grounds.root)/Job'")
        #expect(try await grounds.changes.next() == [.directoryAppeared(b.parent)])
        try Shell.run("cd '\(grounds.root)' && mv Work/a.md Job/b.md")
        let moved = try await grounds.changes { $0.contains { $0.path == b } }
        let after = try #require(try grounds.folder.stamp(b))
        #expect(moved == [.moved(from: try TaskPath("Work/a.md"), to: b, after, afterDelete: false)])
        #expect(after.hasContent(of: before))
        try Shell.run("cd '\(grounds.root)' && cp Job/b.md Job/c.md && mv Job Work/Deep")
        let c = try TaskPath("Work/Deep/c.md")
        let copied = try await grounds.changes { $0.contains { $0.path == c } }
        #expect(copied.first == .directoryMoved(from: b.parent, to: c.parent))
        #expect(copied.last == .changed(c, try #require(try grounds.folder.stamp(c))))
        #expect(try grounds.folder.stamp(c)?.inode != after.inode)
    }

    @Test func `a file that moves into a directory before that is watched is found by its inode`() async throws {
        let grounds = try WatchedGrounds()
        try await grounds.establish("a.md", "old\n")
        let before = try #require(try grounds.folder.stamp(TaskPath("a.md")))
        try Shell.run("cd '\(grounds.root)' && mkdir Job && mv a.md Job/b.md")
        let (a, b) = (try TaskPath("a.md"), try TaskPath("Job/b.md"))
        let changes = try await grounds.changes { $0.contains { $0.path == b } && $0.contains { $0.isEnd(of: a) } }
        #expect(changes.last?.isEnd(of: a) == true)
        #expect(try grounds.folder.stamp(b)?.hasContent(of: before) == true)
    }

    @Test func `a whole tree that appears at once is found completely`() async throws {
        let grounds = try WatchedGrounds()
        try Shell.run(
            """
            cd '\(grounds.root)' && for l in 1 2 3 4 5; do mkdir -p "L$l/sub/x.files";
            for n in 1 2 3 4 5 6 7 8 9 10; do echo x > "L$l/sub/$n.md"; done; echo x > "L$l/sub/x.files/p.png"; done
            """)
        var seen: Set<TaskPath> = []
        while seen.count < 55 {
            for change in try await grounds.changes.next() {
                if case .changed(let path, _) = change { seen.insert(path) }
            }
        }
        #expect(try grounds.allFiles() == seen)
    }

    @Test func `ten thousand files in one burst all arrive, by events or by a scan`() async throws {
        let grounds = try WatchedGrounds(isLarge: true)
        try FileSystem.makeDirectories(grounds.root + "/Big")
        let directory = try Directory(path: grounds.root + "/Big")
        let writer = Task.detached {
            for number in 0..<10_000 {
                let file = try directory.open("\(number).md", [.write, .create])
                try file.write([0x78])
                try file.close()
            }
        }
        var seen: Set<TaskPath> = []
        while seen.count < 10_000 {
            let batch = try await grounds.changes.next()
            #expect(batch.count <= 1000)
            for change in batch {
                switch change {
                case .changed(let path, _): seen.insert(path)
                case .rescanNeeded:
                    _ = try grounds.folder.scan(.watch) { seen.insert($0.path) }
                default: break
                }
            }
        }
        try await writer.value
        #expect(try grounds.allFiles() == seen)
    }

    @Test func `our own writes come back with the stamp that they gave`() async throws {
        let grounds = try WatchedGrounds()
        let path = try TaskPath("a.md")
        for (text, expecting) in [("one", FileExpectation.absent), ("two", .anything)] {
            let result = grounds.folder.write([FolderWrite(path: path, bytes: bytes(text), expecting: expecting)])
            guard case .written(let stamp) = try result[0].get() else {
                Issue.record("refused")
                return
            }
            let echo = try await grounds.changes { $0.contains { $0.path == path } }
            #expect(echo == [.changed(path, stamp)])
        }
        let stamp = try #require(try grounds.folder.stamp(path))
        let result = grounds.folder.write([FolderWrite(path: path, bytes: bytes("three"), expecting: .stamp(stamp))])
        let echo = try await grounds.changes { $0.contains { $0.path == path } }
        guard case .written(let written) = try result[0].get() else {
            Issue.record("refused")
            return
        }
        #expect(echo == [.changed(path, written)])
    }

    @Test func `a missing file that a scan suspected is reported as moved away`() async throws {
        let grounds = try WatchedGrounds()
        let path = try TaskPath("was-never-there.md")
        async let next = grounds.changes.next()
        grounds.changes.noteMissing([path])
        #expect(try await next == [.movedAway(path)])
    }

    @Test func `waiting ends when it is cancelled`() async throws {
        let grounds = try WatchedGrounds()
        let changes = grounds.changes
        let waiting = Task { try await changes.next() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
    }
}

extension DebouncedChange {
    /// Whether the change reports that the path is gone, through a delete or a move.
    func isEnd(of path: TaskPath) -> Bool {
        switch self {
        case .removed(path), .movedAway(path): true
        case .moved(path, _, _, _): true
        default: false
        }
    }
}

/// A watched directory of the real disk.
final class WatchedGrounds {
    let root: String
    let folder: DirectoryTaskFolder
    let changes: FolderChanges

    /// Creates the directory.
    ///
    /// - Parameter isLarge: Whether thousands of files will be created. They are in memory if
    ///   possible, so that a slow disk does not matter.
    init(isLarge: Bool = false) throws {
        let base = isLarge && FileSystem.exists("/dev/shm") ? "/dev/shm" : "/tmp"
        root = base + "/ferry-test-" + SystemRandom.hex(8) + "/root"
        try FileSystem.makeDirectories(root, mode: 0o700)
        folder = DirectoryTaskFolder(path: root)
        changes = FolderChanges(folder)
        try folder.startWatching()
        let scan = try folder.scan(.watch) { _ in }
        #expect(scan.isWatched)
    }

    deinit { try? FileSystem.removeTree(FileSystem.split(root).parent) }

    /// Creates a file, and waits until it was reported.
    func establish(_ path: String, _ text: String) async throws {
        try FileSystem.makeDirectories(FileSystem.split(root + "/" + path).parent)
        try FileSystem.replace(root + "/" + path, with: bytes(text))
        _ = try await changes { $0.contains { $0.path?.string == path } }
    }

    /// Returns all changes until the condition holds.
    func changes(until isDone: ([DebouncedChange]) -> Bool) async throws -> [DebouncedChange] {
        var all: [DebouncedChange] = []
        while !isDone(all) { all += try await changes.next() }
        return all
    }

    func text(_ path: String) throws -> String {
        String(decoding: try FileSystem.read(root + "/" + path), as: UTF8.self)
    }

    func allFiles() throws -> Set<TaskPath> {
        var files: Set<TaskPath> = []
        _ = try folder.scan(.watch) { files.insert($0.path) }
        return files
    }
}

extension DebouncedChange {
    /// The path of a file that exists.
    var path: TaskPath? {
        switch self {
        case .changed(let path, _), .moved(_, let path, _, _): path
        default: nil
        }
    }
}

enum Shell {
    static func has(_ program: String) -> Bool {
        (getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin").split(separator: ":")
            .contains { FileSystem.exists($0 + "/" + program) }
    }

    static func run(_ script: String) throws {
        #expect(try status(of: script) == 0, "\(script)")
    }

    static func status(of script: String) throws -> Int32 {
        var child = pid_t()
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let arguments: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", script].map { (text: String) in strdup(text) }
        let environment: [UnsafeMutablePointer<CChar>?] = ["PATH=" + path].map { (text: String) in strdup(text) }
        defer { for text in arguments + environment { free(text) } }
        let status = posix_spawn(&child, "/bin/sh", nil, nil, arguments + [nil], environment + [nil])
        guard status == 0 else { throw SystemError(errno: status, operation: "run", path: "/bin/sh") }
        var result: Int32 = 0
        waitpid(child, &result, 0)
        return result
    }
}
