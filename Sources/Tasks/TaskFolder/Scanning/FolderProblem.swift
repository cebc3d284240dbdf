/// Something in the tasks directory that Ferry leaves alone and tells the user about.
package struct FolderProblem: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// A directory that could not be listed: what is in it is unknown, not gone.
        case unreadable
        /// Links are not followed: they could lead out of the tree.
        case symbolicLink
        /// A pipe, socket or device.
        case specialFile
        case invalidName
        /// A task file over the limit; it is not read.
        case tooLarge
        case tooDeep
        /// A directory whose name ends in `.md`.
        case directoryNamedAsTask
        /// A text in Markdown whose name ends otherwise, as in `.MD`.
        case otherEnding
        case directoryInAttachments
        /// Two names that other systems take for one: equal but for case or Unicode form. Both are synced.
        case nameClash
        /// Another program syncs this directory too.
        case otherSync
        /// Not every directory can be watched.
        case watchLimit
    }

    package var kind: Kind
    /// Relative to the root and safe to print; a name that is no UTF-8 is escaped.
    package var path: String
    /// What it is and what to do, in one sentence or two.
    package var message: String

    package init(_ kind: Kind, path: String, _ message: String) {
        self.kind = kind
        self.path = path
        self.message = message
    }

    package var description: String { "\(path): \(message)" }

    /// Of a directory that is where only files are looked for, by its name and place; nil for any other.
    init?(ofDirectory path: TaskPath) {
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

    /// Of a file that is no task only for the end of its name; nil for any other.
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
