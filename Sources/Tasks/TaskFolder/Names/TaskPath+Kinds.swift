import SystemIO

extension TaskPath {
    /// The suffix of a task file's name.
    package static let taskSuffix = ".md"
    /// The suffix of an attachments directory's name.
    package static let attachmentsSuffix = ".files"
    /// The directory for Ferry's own files: the marker, the trash, and downloads in progress.
    package static let privateDirectory = ".ferry"

    /// Returns the kind of a file or directory with this path, which depends on its names only.
    package func kind(isDirectory: Bool) -> Kind {
        if isRoot { return isDirectory ? .list : .ignored }
        var path = string
        return path.withUTF8 { path in
            var kind = Kind.list
            var start = 0
            for end in path.indices where path[end] == UInt8(ascii: "/") {
                let name = UnsafeBufferPointer(rebasing: path[start..<end])
                kind = TaskPath.kind(of: name, in: kind, isDirectory: true)
                start = end + 1
            }
            let name = UnsafeBufferPointer(rebasing: path[start...])
            return TaskPath.kind(of: name, in: kind, isDirectory: isDirectory)
        }
    }

    /// Returns the kind of a name in a directory of kind `parent`.
    static func kind(of name: String, in parent: Kind, isDirectory: Bool) -> Kind {
        var name = name
        return name.withUTF8 { kind(of: $0, in: parent, isDirectory: isDirectory) }
    }

    private static func kind(of name: UnsafeBufferPointer<UInt8>, in parent: Kind, isDirectory: Bool) -> Kind {
        if isIgnored(name) { return .ignored }
        switch parent {
        case .list where isDirectory:
            if isLong(name, attachmentsEnd) { return .attachments }
            // A directory that is named like a task file is reported by the scan and not entered.
            return isLong(name, taskEnd) ? .ignored : .list
        case .list: return isLong(name, taskEnd) ? .taskFile : .ignored
        case .attachments: return isDirectory ? .ignored : .attachment
        default: return .ignored
        }
    }

    /// Whether a name is one that editors, browsers, desktops or Ferry use for temporary and hidden
    /// files.
    package static func isIgnored(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { isIgnored($0) }
    }

    private static func isIgnored(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = name.first, let last = name.last else { return true }
        // Hidden files, including Emacs' locks `.#x` and Ferry's temporary files.
        if first == UInt8(ascii: ".") || last == UInt8(ascii: "~") { return true }
        if first == UInt8(ascii: "#"), last == UInt8(ascii: "#") { return true }
        // Vim's test for a writable directory.
        if name.count == 4, name.elementsEqual("4913".utf8) { return true }
        return ignoredEnds.contains { $0.last == last && isLong(name, $0) }
    }

    /// The name without its suffix: `X` for `X.md` and for `X.files`; otherwise the whole name.
    package var stem: String {
        let name = name
        for end in [TaskPath.taskEnd, TaskPath.attachmentsEnd] {
            var bytes = name
            if bytes.withUTF8({ TaskPath.isLong($0, end) }) { return String(name.utf8.dropLast(end.count)) ?? name }
        }
        return name
    }

    /// Returns `X.files` next to the task file `X.md`. The longer suffix may make a valid name too
    /// long.
    package func attachmentsDirectory() throws(FolderError) -> TaskPath {
        try parent.appending(stem + TaskPath.attachmentsSuffix)
    }

    /// The task file `X.md` next to the attachments directory `X.files`, also for a file within
    /// that directory.
    package var taskFileOfAttachments: TaskPath {
        let directory = kind(isDirectory: false) == .attachment ? parent : self
        return directory.parent.appending(unchecked: directory.stem + TaskPath.taskSuffix)
    }

    private static let ignoredEnds = [".swp", ".swo", ".swx", ".tmp", ".part", ".crdownload"].map { Array($0.utf8) }
    private static let taskEnd = Array(taskSuffix.utf8)
    private static let attachmentsEnd = Array(attachmentsSuffix.utf8)

    /// Whether the name has this suffix and something before it.
    private static func isLong(_ name: UnsafeBufferPointer<UInt8>, _ end: [UInt8]) -> Bool {
        guard name.count > end.count else { return false }
        let start = name.count - end.count
        for index in end.indices where name[start + index] != end[index] { return false }
        return true
    }
}

/// Returns a path for messages, with all characters escaped that are not safe to print.
package func escapedPath(_ path: String) -> String { escapedName(path.utf8) }
