/// Vector search by comparing the query vector with every document.
extension Query.FindNearest {
    func check() throws(QueryError) {
        guard (1...1000).contains(limit) else {
            throw QueryError("FindNearest.limit must be a positive integer of no more than 1000.")
        }
        guard (1...DocumentLimits.maximumDimension).contains(queryVector.count) else {
            throw QueryError("FindNearest.query_vector must have 1 to \(DocumentLimits.maximumDimension) dimensions.")
        }
    }

    /// Returns the nearest of `documents`, nearest first; for the dot product, the greatest first.
    /// Ties keep their order.
    func results(among documents: [Document]) -> [Document] {
        var found: [(document: Document, distance: Double)] = documents.compactMap { document in
            distance(to: document).map { (document, $0) }
        }
        if let distanceThreshold {
            found.removeAll {
                measure == .dotProduct ? $0.distance < distanceThreshold : $0.distance > distanceThreshold
            }
        }
        let order = found.indices.sorted { a, b in
            let (first, second) = (found[a].distance, found[b].distance)
            if first != second { return measure == .dotProduct ? first > second : first < second }
            return a < b
        }
        return order.prefix(Int(limit)).map { index in
            var document = found[index].document
            if let distanceResultField {
                document.fields.setValue(.double(found[index].distance), at: distanceResultField.segments[...])
            }
            return document
        }
    }

    /// Returns the distance; nil if the field is not a vector of the same dimension, or if the
    /// angle is undefined.
    package func distance(to document: Document) -> Double? {
        guard let elements = document[vectorField]?.vectorElements, elements.count == queryVector.count else {
            return nil
        }
        let vector = elements.map { element in
            switch element {
            case .integer(let value): Double(value)
            case .double(let value): value
            default: Double.nan
            }
        }
        let product = zip(vector, queryVector).reduce(0) { $0 + $1.0 * $1.1 }
        let distance: Double
        switch measure {
        case .dotProduct: distance = product
        case .euclidean:
            distance = zip(vector, queryVector).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
        case .cosine:
            let lengths = [vector, queryVector].map { $0.reduce(0) { $0 + $1 * $1 }.squareRoot() }
            distance = 1 - product / (lengths[0] * lengths[1])
        }
        return distance.isNaN ? nil : distance
    }
}
