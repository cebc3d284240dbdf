/// The results of a query among given documents. The in-memory store uses this, and every other
/// store must return the same.
extension QueryPlan {
    package struct Results: Sendable, Hashable {
        package var documents: [Document]
        /// The number of results that the offset skipped.
        package var skipped: Int
    }

    /// Filters, sorts and cuts `documents`, performs the vector search if requested, and keeps the
    /// selected fields.
    package func results(among documents: some Sequence<Document>) -> Results {
        var matching = documents.filter(matches)
        matching.sort { compare($0, $1) < 0 }
        let skipped = min(matching.count, Int(query.offset))
        matching.removeFirst(skipped)
        if let limit = query.limit { matching.removeLast(max(0, matching.count - Int(limit))) }
        if let nearest = query.findNearest { matching = nearest.results(among: matching) }
        return Results(documents: matching.map(project), skipped: skipped)
    }

    /// Returns the document with the selected fields only.
    package func project(_ document: Document) -> Document {
        guard let projectedPaths else { return document }
        var projected = document
        projected.fields = document.fields.selecting(projectedPaths)
        return projected
    }

    /// The fields to return; nil for all. A requested distance counts as selected.
    package var projectedPaths: [FieldPath]? {
        guard let projection = query.projection else { return nil }
        return projection + [query.findNearest?.distanceResultField].compactMap(\.self)
    }
}

extension [String: Value] {
    /// Returns the fields at `paths`, within their maps. Omits `__name__` and missing fields.
    package func selecting(_ paths: [FieldPath]) -> [String: Value] {
        var selected: [String: Value] = [:]
        for path in paths where !path.isDocumentName {
            if let value = value(at: path.segments[...]) { selected.setValue(value, at: path.segments[...]) }
        }
        return selected
    }
}
