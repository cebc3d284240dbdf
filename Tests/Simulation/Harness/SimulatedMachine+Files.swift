import Cryptography
import TaskFolder

/// What is in the tasks directory.
extension SimulatedMachine {
    /// Every task file by path.
    var files: [String: [UInt8]] { files(.taskFile) }

    /// Every file of a kind by path, as users see them: of two whose names differ in Unicode form only one.
    func files(_ kind: TaskPath.Kind) -> [String: [UInt8]] {
        var found: [String: (path: TaskPath, bytes: [UInt8])] = [:]
        for (path, bytes) in exactFiles(kind) where found[path.string].map({ path < $0.path }) ?? true {
            found[path.string] = (path, bytes)
        }
        // The name and the content of the same file.
        return Dictionary(found.values.map { ($0.path.string, $0.bytes) }) { first, _ in first }
    }

    /// Every file of a kind.
    func exactFiles(_ kind: TaskPath.Kind) -> [TaskPath: [UInt8]] {
        var files: [TaskPath: [UInt8]] = [:]
        for (path, bytes) in byUser({ $0.contents() }) where path.kind(isDirectory: false) == kind {
            if let bytes { files[path] = bytes }
        }
        return files
    }

    /// The attachments' hashes and names by the task file beside them; not what lies beside no task, which is nobody's. Where two
    /// have one name they are numbered as they came, so the number does not count.
    var attachments: [TaskPath: [UInt8]] {
        let tasks = exactFiles(.taskFile)
        var found: [TaskPath: [String]] = [:]
        for (path, bytes) in exactFiles(.attachment) where tasks[path.taskFileOfAttachments] != nil {
            let name = path.name.contains("(") ? path.name.replacing(#/ \([0-9]+\)/#, with: "") : path.name
            found[path.taskFileOfAttachments, default: []].append("\(SHA256.hash(bytes).hex) \(name)")
        }
        return found.mapValues { Array($0.sorted().joined(separator: "\n").utf8) }
    }

    /// What task files in the local trash say.
    var trashedWords: Set<String> {
        let files = byUser { $0.contents() }.filter {
            $0.key.string.hasPrefix(TaskPath.privateDirectory + "/trash/") && $0.key.name.hasSuffix(".md")
        }
        return files.values.reduce(into: []) { $0.formUnion(Words.found(in: $1 ?? [], "q")) }
    }

    /// Of lists.
    var directories: [String] {
        byUser { $0.contents() }.filter { $0.value == nil && $0.key.kind(isDirectory: true) == .list }
            .map(\.key.string).sorted()
    }

    /// Where the file that is here was a moment ago, if the process has renamed it since, and has not looked at it again. Whoever puts
    /// another in its place may as well have done so there: nothing tells.
    func lastPlace(of path: String) -> String? {
        justRenamed.flatMap { !$0.marks.isEmpty && $0.marks == marks(path) ? $0.from : nil }
    }
}
