import DocumentClient
import DocumentCoding
import DocumentModel

extension Query {
    /// Returns the results whose vectors are nearest to a given one, nearest first.
    ///
    /// The server compares, or this machine if the documents come from here. The results contain only
    /// documents that fit the model and have a vector of the same dimension. `snapshots` cannot follow a
    /// search.
    ///
    /// - Parameters:
    ///   - count: the number of results, at most 1,000.
    ///   - vector: the vector to compare with.
    ///   - field: the property with the vectors.
    ///   - measure: how distances are measured.
    ///   - distance: the greatest distance of a result, or the least dot product; nil for any.
    ///   - source: where the documents come from.
    /// - Throws: `FerryError`.
    public func nearest(
        _ count: Int, to vector: VectorValue, in field: any KeyPath<Model, VectorValue> & Sendable,
        by measure: DistanceMeasure = .euclidean, within distance: Double? = nil,
        from source: Source = .serverElseCache
    ) async throws -> [Neighbor<Model>] {
        try await nearest(count, to: vector, Result { try FieldNames.path(of: field) }, measure, distance, source)
    }

    /// Returns the results whose vectors are nearest to a given one, as for a property that always has one.
    public func nearest(
        _ count: Int, to vector: VectorValue, in field: any KeyPath<Model, VectorValue?> & Sendable,
        by measure: DistanceMeasure = .euclidean, within distance: Double? = nil,
        from source: Source = .serverElseCache
    ) async throws -> [Neighbor<Model>] {
        try await nearest(count, to: vector, Result { try FieldNames.path(of: field) }, measure, distance, source)
    }

    private func nearest(
        _ count: Int, to vector: VectorValue, _ field: Result<FieldPath, any Error>, _ measure: DistanceMeasure,
        _ distance: Double?, _ source: Source
    ) async throws -> [Neighbor<Model>] {
        let ferry = try ferry
        return try await FerryError.translating {
            let session = try ferry.session
            let search = DatabaseQuery.FindNearest(
                vectorField: try field.get(), queryVector: vector.elements, measure: measure.measure,
                limit: Int32(clamping: count), distanceThreshold: distance)
            var query = try plan(in: session)
            query.findNearest = search
            return try await session.documents(query, source).found.compactMap { snapshot in
                guard let distance = search.distance(to: snapshot.document),
                    let document = try? Document<Model>(snapshot, in: ferry)
                else { return nil }
                return Neighbor(document: document, distance: distance)
            }
        }
    }
}

/// How the distance of two vectors is measured.
public enum DistanceMeasure: Sendable {
    /// The length of their difference.
    case euclidean
    /// One less the cosine of their angle, whatever their lengths: from 0 to 2.
    case cosine
    /// Their dot product, of which the greatest is nearest.
    case dotProduct

    var measure: DatabaseQuery.FindNearest.Measure {
        switch self {
        case .euclidean: .euclidean
        case .cosine: .cosine
        case .dotProduct: .dotProduct
        }
    }
}

/// A document that was found by its vector.
public struct Neighbor<Model: DocumentModel>: Identifiable, Sendable {
    /// The document.
    public let document: Document<Model>
    /// The distance, by the measure of the search.
    public let distance: Double

    /// The id of the document.
    public var id: String { document.id }
}
