import DocumentModel

/// The documents that match a watched query although the remote does not name them among its results.
/// Others have changed or deleted them while no watched target contained them.
struct UnnamedDocuments {
    let file: ReplicaFile

    private var targets: TargetTable { TargetTable(database: file.database) }

    /// Hides those of one target after a boundary.
    func hide(outOf target: Int32, _ query: Query, _ boundary: Boundary) throws {
        // The documents that an offset skips are not named.
        guard query.offset == 0, query.findNearest == nil, let plan = try? QueryPlan(query) else { return }
        let watched = boundary.targets.union([target, TargetTable.unreported])
        let unnamed = try ReplicaReader(file: file).results(of: plan, outside: watched, until: boundary.readTime)
        guard !unnamed.isEmpty else { return }
        var last: Document?
        if let limit = query.limit, try targets.count(of: target) ?? 0 >= Int64(limit) {
            // Documents after the last one up to the limit may be up to date.
            last = try targets.members(of: target).compactMap { try document($0.path) }
                .max { plan.compare($0, $1) < 0 }
        }
        for document in unnamed where last.map({ plan.compare(document, $0) < 0 }) ?? true {
            guard let id = try file.row(document.name.path)?.id else { continue }
            try file.setState(.outside, of: id, at: document.name.path)
        }
    }

    /// Returns a document without local changes.
    private func document(_ path: String) throws -> Document? {
        guard let row = try file.row(path), let fields = try file.base(row).fields else { return nil }
        return Document(
            name: try DocumentName(database: file.databaseName, path: path), fields: fields, createTime: row.created,
            updateTime: row.version)
    }
}
