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

    /// Returns the nearest of `documents`, as `ranking` has them.
    func results(among documents: [Document]) -> [Document] {
        ranking(of: documents).map { index, distance in
            var document = documents[index]
            if let distanceResultField {
                document.fields.setValue(.double(distance), at: distanceResultField.segments[...])
            }
            return document
        }
    }

    /// Returns the positions of the nearest of `documents` and their distances, nearest first; for the
    /// dot product, the greatest first. Ties keep their order.
    package func ranking(of documents: [Document]) -> [(index: Int, distance: Double)] {
        var found = documents.indices.compactMap { index in
            distance(to: documents[index]).map { (index: index, distance: $0) }
        }
        if let distanceThreshold {
            found.removeAll {
                measure == .dotProduct ? $0.distance < distanceThreshold : $0.distance > distanceThreshold
            }
        }
        found.sort { first, second in
            if first.distance != second.distance {
                return measure == .dotProduct
                    ? first.distance > second.distance : first.distance < second.distance
            }
            return first.index < second.index
        }
        return Array(found.prefix(Int(limit)))
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
