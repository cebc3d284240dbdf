import SystemIO

extension Directory {
    /// Each regular file's path relative to here, in no order; hidden ones and links are not looked at.
    /// - Parameter skip: told of what cannot be looked at: names that are no UTF-8, shown with escapes, and directories more than
    ///   16 deep.
    func forEachVisibleFile(_ body: (String) -> Void, skip: (String) -> Void = { _ in }) throws(SystemError) {
        try walk("", depth: 0, body, skip)
    }

    private func walk(
        _ path: String, depth: Int, _ body: (String) -> Void, _ skip: (String) -> Void
    ) throws(SystemError) {
        guard depth < 16 else { return skip(path) }
        let entries = try (path.isEmpty ? self : try directory(path)).entries()
        for entry in entries where !entry.name.hasPrefix(".") {
            let full = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
            guard entry.invalidBytes == nil else {
                if entry.kind != .link { skip(full) }
                continue
            }
            switch entry.kind == .unknown ? try status(full).kind : entry.kind {
            case .directory: try walk(full, depth: depth + 1, body, skip)
            case .file: body(full)
            default: continue
            }
        }
    }
}
