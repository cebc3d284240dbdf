/// A file or directory that Ferry does not sync, and reports to the user.
package struct FolderProblem: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// A directory that could not be listed. Its contents are unknown, not gone.
        case unreadable
        /// A list's directory on another file system than its files were. Its tasks are unknown, not
        /// gone.
        case otherFileSystem
        /// A symbolic link. Links are not followed, because they could lead out of the tree.
        case symbolicLink
        /// A pipe, socket or device.
        case specialFile
        case invalidName
        case tooDeep
        /// A directory with a name that ends in `.md`.
        case directoryNamedAsTask
        /// A Markdown file with another suffix, such as `.MD`.
        case otherEnding
        case directoryInAttachments
        /// Two names that other systems take for the same one, because they differ only in case or
        /// Unicode normalization. Both are synced.
        case nameClash
        /// Another program syncs this directory too.
        case otherSync
        /// Not every directory can be watched.
        case watchLimit
    }

    package var kind: Kind
    /// The path relative to the root, safe to print; a name that is not UTF-8 is escaped.
    package var path: String
    /// The problem and what to do, in one sentence or two.
    package var message: String

    package init(_ kind: Kind, path: String, _ message: String) {
        self.kind = kind
        self.path = path
        self.message = message
    }

    package var description: String { "\(path): \(message)" }

    /// Creates the problem of a directory in a place where only files are expected, or of another
    /// tasks directory within this one; nil for any other directory.
    init?(ofDirectory path: TaskPath) {
        if path.name == TaskPath.privateDirectory, !path.parent.isRoot {
            self.init(
                .otherSync, path: escapedPath(path.parent.string),
                "another Ferry syncs this directory as well: every change of one is a change of the other's files, and a "
                    + "delete in one deletes in both; move it out of this tasks directory")
            return
        }
        guard path.kind(isDirectory: true) == .ignored, !TaskPath.isIgnored(path.name) else { return nil }
        let escaped = escapedPath(path.string)
        switch path.parent.kind(isDirectory: true) {
        case .attachments:
            self.init(
                .directoryInAttachments, path: escaped, "attachments are files; put this directory into an archive")
        case .list:
            self.init(
                .directoryNamedAsTask, path: escaped, "a directory named as a task file is left alone; rename it")
        default: return nil
        }
    }

    /// Creates the problem of a file that is not a task only because of its suffix; nil for any
    /// other file.
    init?(ofFile path: TaskPath) {
        let name = path.name.lowercased()
        guard path.parent.kind(isDirectory: true) == .list, path.kind(isDirectory: false) == .ignored,
            !TaskPath.isIgnored(path.name), [TaskPath.taskSuffix, ".markdown"].contains(where: name.hasSuffix)
        else { return nil }
        self.init(
            .otherEnding, path: escapedPath(path.string),
            "it is not synced: names of task files end in \(TaskPath.taskSuffix); rename it")
    }
}
