import Cryptography
import SystemIO
import TaskFolder

/// The contents of the tasks directory.
extension SimulatedMachine {
    /// The task files by path.
    var files: [String: [UInt8]] { files(.taskFile) }

    /// Returns the files of a kind by path as users see them. Of two names that differ only in
    /// Unicode normalization, one is included.
    func files(_ kind: TaskPath.Kind) -> [String: [UInt8]] {
        var found: [String: (path: TaskPath, bytes: [UInt8])] = [:]
        for (path, bytes) in exactFiles(kind) where found[path.string].map({ path < $0.path }) ?? true {
            found[path.string] = (path, bytes)
        }
        // Use the name and the content of the same file.
        return Dictionary(found.values.map { ($0.path.string, $0.bytes) }) { first, _ in first }
    }

    /// Returns all files of a kind.
    func exactFiles(_ kind: TaskPath.Kind) -> [TaskPath: [UInt8]] {
        var files: [TaskPath: [UInt8]] = [:]
        for (path, bytes) in byUser({ $0.contents() }) where path.kind(isDirectory: false) == kind {
            if let bytes { files[path] = bytes }
        }
        return files
    }

    /// The hashes and names of attachments by the task file next to them, without attachments that
    /// have no task.
    ///
    /// Two attachments with one name are numbered in the order of their arrival, so the number is
    /// ignored.
    var attachments: [TaskPath: [UInt8]] {
        let tasks = exactFiles(.taskFile)
        var found: [TaskPath: [String]] = [:]
        for (path, bytes) in exactFiles(.attachment) where tasks[path.taskFileOfAttachments] != nil {
            let name = path.name.contains("(") ? path.name.replacing(#/ \([0-9]+\)/#, with: "") : path.name
            found[path.taskFileOfAttachments, default: []].append("\(SHA256.hash(bytes).hex) \(name)")
        }
        return found.mapValues { Array($0.sorted().joined(separator: "\n").utf8) }
    }

    /// The words of task files in the local trash.
    var trashedWords: Set<String> {
        let files = byUser { $0.contents() }.filter {
            $0.key.string.hasPrefix(TaskPath.privateDirectory + "/trash/") && $0.key.name.hasSuffix(".md")
        }
        return files.values.reduce(into: []) { $0.formUnion(Words.found(in: $1 ?? [], "q")) }
    }

    /// The directories of lists.
    var directories: [String] {
        byUser { disk in
            disk.contents().filter { $0.value == nil && $0.key.kind(isDirectory: true) == .list }.map(\.key.string)
                .filter { (try? disk.status($0))?.kind != .link }.sorted()
        }
    }

    func setNextStep(_ action: @escaping () -> Void) {
        stepCount += 1
        nextStep = (stepCount, action)
    }

    func takeNextStep() {
        let step = nextStep
        nextStep = nil
        step?.action()
    }

    /// Returns the path that the file at `path` had a moment ago, if the process has renamed it
    /// since and not examined it again. A user who replaces the file may as well have replaced it
    /// at the old path; the two cannot be distinguished.
    func lastPlace(of path: String) -> String? {
        justRenamed.flatMap { !$0.marks.isEmpty && $0.marks == marks(path) ? $0.from : nil }
    }
}
