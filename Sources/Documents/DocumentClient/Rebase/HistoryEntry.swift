public import DocumentModel

/// A history entry, `{document}/{collection}/{id}`: one value that was displaced by a merge.
///
/// Fields: `field` (a field path, or `__document__` for a delete), `value` (absent if the field was
/// removed), `baseTime`, `replacedTime` (the commit time of the displacement), `replica`, `reason`.
public enum HistoryEntry {
    /// Returns one write per value, with ids that stay the same if the rebase is repeated.
    ///
    /// - Parameter extra: further fields of each entry, such as the owner that security rules
    ///   require.
    public static func writes(
        of displaced: [DisplacedValue], in context: RebaseContext, collection: String, extra: [String: Value] = [:]
    ) -> [Write] {
        displaced.enumerated().compactMap { index, entry in
            let path = "\(context.name.path)/\(collection)/\(context.id)-\(index)"
            guard let name = try? DocumentName(database: context.name.database, path: path) else { return nil }
            var fields = extra.merging(entry.details) { $1 }
            fields["field"] = .string(entry.path?.description ?? "__document__")
            fields["value"] = entry.value
            fields["baseTime"] = context.baseTime.map { .timestamp($0) }
            fields["replica"] = .string(context.replica)
            fields["reason"] = .string(entry.reason)
            return Write(
                .update(name, fields: fields),
                transforms: [FieldTransform(FieldPath(key: "replacedTime"), .serverTimestamp)])
        }
    }
}
