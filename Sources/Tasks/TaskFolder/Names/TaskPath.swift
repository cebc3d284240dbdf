/// A path beneath the tasks directory: components that are each a valid name, joined by slashes. Equal only to the same
/// bytes, so that two files whose names differ in Unicode form stay two.
package struct TaskPath: Hashable, Sendable {
    private let text: ExactText

    /// The tasks directory itself, whose string is empty.
    package static let root = TaskPath(unchecked: "")

    /// What its type of file is to Ferry.
    package enum Kind: Sendable {
        /// A directory of tasks, or the root.
        case list
        /// `X.md`.
        case taskFile
        /// The directory `X.files`.
        case attachments
        /// A file directly in an attachments directory.
        case attachment
        /// Hidden, backup and temporary files, and what is no task: as if it were not there.
        case ignored
    }

    package var string: String { text.string }

    /// Refuses what `NameProblem` names, in any component; the root is not written as a string.
    package init(_ string: String) throws(FolderError) {
        if let problem = NameProblem(ofComponentsOf: string) {
            throw FolderError(.invalidName, "\(escapedPath(string)): \(problem.description)")
        }
        self.init(unchecked: string)
    }

    /// For strings made of components that are checked already.
    init(unchecked string: String) { text = ExactText(string) }

    /// The last component; empty for the root.
    package var name: String {
        guard let slash = lastSlash else { return string }
        return String(string[string.utf8.index(after: slash)...])
    }

    /// The directory it is in; the root is in itself.
    package var parent: TaskPath {
        guard let slash = lastSlash else { return .root }
        return TaskPath(unchecked: String(string[..<slash]))
    }

    package var isRoot: Bool { string.isEmpty }

    package var components: [Substring] { string.split(separator: "/") }

    /// Checks the name as `init` does.
    package func appending(_ name: String) throws(FolderError) -> TaskPath {
        try TaskPath(isRoot ? name : string + "/" + name)
    }

    func appending(unchecked name: String) -> TaskPath {
        TaskPath(unchecked: isRoot ? name : string + "/" + name)
    }

    /// Whether it is `directory` itself or somewhere beneath it.
    package func isBeneath(_ directory: TaskPath) -> Bool {
        let (path, prefix) = (string.utf8, directory.string.utf8)
        if prefix.isEmpty { return true }
        guard path.count >= prefix.count, path.starts(with: prefix) else { return false }
        return path.count == prefix.count || path[path.index(path.startIndex, offsetBy: prefix.count)] == slash
    }

    /// The same path after `directory` has become `target`; itself where it is not beneath `directory`.
    package func moved(from directory: TaskPath, to target: TaskPath) -> TaskPath {
        guard isBeneath(directory) else { return self }
        let rest = String(string.utf8.dropFirst(directory.string.utf8.count)) ?? ""
        if rest.isEmpty { return target }
        if directory.isRoot { return target.appending(unchecked: rest) }
        return TaskPath(unchecked: target.isRoot ? String(rest.dropFirst()) : target.string + rest)
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
