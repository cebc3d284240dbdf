import SystemIO
import TaskFolder

/// The disk on which a test of the contract runs.
enum DiskKind: CaseIterable, Sendable {
    case kernel
    case memory
}

/// A folder on one of the two disks, and a second access to the disk for the user's changes.
final class Grounds {
    let folder: any TaskFolder
    let user: any FolderDisk
    let memory: MemoryDisk?
    let path: String?

    init(_ kind: DiskKind) throws {
        switch kind {
        case .kernel:
            let path = "/tmp/ferry-test-" + SystemRandom.hex(8)
            try FileSystem.makeDirectories(path, mode: 0o700)
            self.path = path
            folder = DirectoryTaskFolder(path: path)
            user = KernelDisk(path: path)
            memory = nil
        case .memory:
            let disk = MemoryDisk()
            memory = disk
            path = nil
            folder = MemoryTaskFolder(disk: disk)
            user = disk
        }
    }

    deinit {
        if let path { try? FileSystem.removeTree(path) }
    }

    /// Writes a file in place, like a shell's `>`, and creates its parent directories.
    func save(_ path: String, _ text: String) throws {
        if let slash = path.lastIndex(of: "/") { try user.makeDirectories(String(path[..<slash])) }
        if let memory { return try memory.save(path, Array(text.utf8)) }
        let file = try user.open(path, [.write, .create, .truncate])
        try file.write(Array(text.utf8))
        try file.close()
    }

    func text(_ path: String) throws -> String {
        String(decoding: try user.read(path, limit: 1 << 20).bytes, as: UTF8.self)
    }

    func exists(_ path: String) -> Bool { (try? user.status(path)) != nil }

    func stamp(_ path: String) throws -> FileStamp {
        guard let stamp = try folder.stamp(TaskPath(path)) else { throw FolderError(.notFound, path) }
        return stamp
    }

    func write(_ path: String, _ text: String, _ expecting: FileExpectation) throws -> WriteOutcome {
        try folder.write([
            FolderWrite(path: TaskPath(path), bytes: Array(text.utf8), expecting: expecting)
        ])[0].get()
    }

    func scan(_ purpose: ScanPurpose = .watch) throws -> (files: [String], scan: FolderScan) {
        var files: [String] = []
        let scan = try folder.scan(purpose) { files.append($0.path.string) }
        return (files.sorted(), scan)
    }

    /// Returns the names in a directory.
    func names(_ directory: String) throws -> [String] {
        var names: [String] = []
        _ = try user.visit(directory, watching: false, wantsStatus: { _ in false }) { entry, _ in
            names.append(entry.name)
        }
        return names.sorted()
    }
}

func code(of body: () throws -> Void) -> FolderError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? FolderError)?.code
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
