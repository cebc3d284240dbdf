/// A path below the tasks directory: valid names joined by slashes. Paths are equal only if their
/// bytes are, so that two files whose names differ in Unicode normalization stay two.
package struct TaskPath: Hashable, Sendable {
    private let text: ExactText

    /// The tasks directory itself, whose string is empty.
    package static let root = TaskPath(unchecked: "")

    /// The role of a file or directory.
    package enum Kind: Sendable {
        /// A directory of tasks, or the root.
        case list
        /// A task file, `X.md`.
        case taskFile
        /// A directory of attachments, `X.files`.
        case attachments
        /// A file directly in a directory of attachments.
        case attachment
        /// A hidden, backup or temporary file, or one that is not a task. It is treated as absent.
        case ignored
    }

    package var string: String { text.string }

    /// Parses a path. Throws for a component with a `NameProblem`, and for an empty string; use
    /// `root` for the root.
    package init(_ string: String) throws(FolderError) {
        if let problem = NameProblem(ofComponentsOf: string) {
            throw FolderError(.invalidName, "\(escapedPath(string)): \(problem.description)")
        }
        self.init(unchecked: string)
    }

    /// Creates a path from components that were checked.
    init(unchecked string: String) { text = ExactText(string) }

    /// The last component; empty for the root.
    package var name: String {
        guard let slash = lastSlash else { return string }
        return String(string[string.utf8.index(after: slash)...])
    }

    /// The directory that contains the path. The parent of the root is the root.
    package var parent: TaskPath {
        guard let slash = lastSlash else { return .root }
        return TaskPath(unchecked: String(string[..<slash]))
    }

    package var isRoot: Bool { string.isEmpty }

    package var components: [Substring] { string.split(separator: "/") }

    /// Appends a name, which is checked as in `init`.
    package func appending(_ name: String) throws(FolderError) -> TaskPath {
        try TaskPath(isRoot ? name : string + "/" + name)
    }

    func appending(unchecked name: String) -> TaskPath {
        TaskPath(unchecked: isRoot ? name : string + "/" + name)
    }

    /// Whether the path is `directory` or below it.
    package func isBeneath(_ directory: TaskPath) -> Bool {
        let (path, prefix) = (string.utf8, directory.string.utf8)
        if prefix.isEmpty { return true }
        guard path.count >= prefix.count, path.starts(with: prefix) else { return false }
        return path.count == prefix.count || path[path.index(path.startIndex, offsetBy: prefix.count)] == slash
    }

    /// Returns the path after `directory` was renamed to `target`; unchanged if the path is not
    /// below `directory`.
    package func moved(from directory: TaskPath, to target: TaskPath) -> TaskPath {
        guard isBeneath(directory) else { return self }
        let rest = String(string.utf8.dropFirst(directory.string.utf8.count)) ?? ""
        if rest.isEmpty { return target }
        if directory.isRoot { return target.appending(unchecked: rest) }
        return TaskPath(unchecked: target.isRoot ? String(rest.dropFirst()) : target.string + rest)
    }

    /// Returns the directory below which this path is what `other` is below `directory`; nil if
    /// there is none. For `N/In/0.md`, `M` and `M/In/0.md` that is `N`.
    package func counterpart(of directory: TaskPath, above other: TaskPath) -> TaskPath? {
        guard !directory.isRoot, other != directory, other.isBeneath(directory) else { return nil }
        let rest = other.string.utf8.dropFirst(directory.string.utf8.count)
        guard string.utf8.count > rest.count, string.utf8.suffix(rest.count).elementsEqual(rest) else { return nil }
        return String(string.utf8.dropLast(rest.count)).map(TaskPath.init(unchecked:))
    }

    private var lastSlash: String.Index? { string.utf8.lastIndex(of: slash) }
}

extension TaskPath: Comparable {
    package static func < (a: TaskPath, b: TaskPath) -> Bool {
        a.string.utf8.lexicographicallyPrecedes(b.string.utf8)
    }
}

extension TaskPath: CustomStringConvertible {
    package var description: String { isRoot ? "." : string }
}

private let slash = UInt8(ascii: "/")
