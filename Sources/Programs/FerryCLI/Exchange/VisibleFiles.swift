import SystemIO

extension Directory {
    /// Each regular file's path relative to here, in no order; hidden ones, links and what lies more than 16 directories deep
    /// are not looked at.
    func forEachVisibleFile(_ body: (String) -> Void) throws(SystemError) { try walk("", depth: 0, body) }

    private func walk(_ path: String, depth: Int, _ body: (String) -> Void) throws(SystemError) {
        guard depth < 16 else { return }
        let entries = try (path.isEmpty ? self : try directory(path)).entries()
        for entry in entries where !entry.name.hasPrefix(".") && entry.invalidBytes == nil {
            let full = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
            switch entry.kind == .unknown ? try status(full).kind : entry.kind {
            case .directory: try walk(full, depth: depth + 1, body)
            case .file: body(full)
            default: continue
            }
        }
    }
}
