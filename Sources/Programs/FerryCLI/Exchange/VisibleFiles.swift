import SystemIO

/// The reason why an entry of a directory is skipped.
enum SkippedFile {
    case link
    /// The entry is a socket, pipe or device.
    case special
    /// The name is not UTF-8; it is shown with escapes.
    case name
    /// The entry is more than 16 directories deep.
    case depth
    case hidden
    case unreadable(String)

    /// The reason as a sentence that follows the file's name.
    var reason: String {
        switch self {
        case .link: "It is a link, and links are not followed."
        case .special: "It is neither a file nor a directory."
        case .name: "Its name is not UTF-8; rename it."
        case .depth: "It is more than 16 directories deep; move it up."
        case .hidden: "It is hidden."
        case .unreadable(let message): "\(message)."
        }
    }
}

extension Directory {
    /// Calls `body` with the path of each regular file relative to this directory, in no particular
    /// order.
    ///
    /// - Parameter skip: Called with each skipped entry: links, hidden files, names that are not
    ///   UTF-8, entries that are too deep, and directories that cannot be read.
    func forEachVisibleFile(_ body: (String) -> Void, skip: (String, SkippedFile) -> Void) throws(SystemError) {
        try walk("", depth: 0, body, skip)
    }

    private func walk(
        _ path: String, depth: Int, _ body: (String) -> Void, _ skip: (String, SkippedFile) -> Void
    ) throws(SystemError) {
        guard depth < 16 else { return skip(path, .depth) }
        let entries: [DirectoryEntry]
        do throws(SystemError) { entries = try (path.isEmpty ? self : try directory(path)).entries() } catch {
            if path.isEmpty { throw error }
            return skip(path, .unreadable(error.message))
        }
        for entry in entries {
            let full = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
            guard !entry.name.hasPrefix(".") else {
                skip(full, .hidden)
                continue
            }
            guard entry.invalidBytes == nil else {
                skip(full, .name)
                continue
            }
            switch entry.kind == .unknown ? try status(full).kind : entry.kind {
            case .directory: try walk(full, depth: depth + 1, body, skip)
            case .file: body(full)
            case .link: skip(full, .link)
            default: skip(full, .special)
            }
        }
    }
}
