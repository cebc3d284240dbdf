/// The results of a query among documents at hand: what a memory store answers, and what every other store must answer too.
extension QueryPlan {
    package struct Results: Sendable, Hashable {
        package var documents: [Document]
        /// How many results the offset left out.
        package var skipped: Int
    }

    /// Filters, sorts and cuts `documents`, finds the nearest where asked for, and keeps the selected fields.
    package func results(among documents: some Sequence<Document>) -> Results {
        var matching = documents.filter(matches)
        matching.sort { compare($0, $1) < 0 }
        let skipped = min(matching.count, Int(query.offset))
        matching.removeFirst(skipped)
        if let limit = query.limit { matching.removeLast(max(0, matching.count - Int(limit))) }
        if let nearest = query.findNearest { matching = nearest.results(among: matching) }
        return Results(documents: matching.map(project), skipped: skipped)
    }

    /// The document with the selected fields only.
    package func project(_ document: Document) -> Document {
        guard let projectedPaths else { return document }
        var projected = document
        projected.fields = document.fields.selecting(projectedPaths)
        return projected
    }

    /// The fields to answer with; nil: all. A distance that was asked for counts as selected.
    package var projectedPaths: [FieldPath]? {
        guard let projection = query.projection else { return nil }
        return projection + [query.findNearest?.distanceResultField].compactMap(\.self)
    }
}

extension [String: Value] {
    /// The fields at `paths`, in their maps; `__name__` and missing ones are left out.
    package func selecting(_ paths: [FieldPath]) -> [String: Value] {
        var selected: [String: Value] = [:]
        for path in paths where !path.isDocumentName {
            if let value = value(at: path.segments[...]) { selected.setValue(value, at: path.segments[...]) }
        }
        return selected
    }
}
