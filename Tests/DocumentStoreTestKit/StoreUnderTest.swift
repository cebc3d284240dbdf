import DocumentModel
package import DocumentStore
import FirestoreProtocol

/// Shorthands for the checks.
package struct StoreUnderTest: Sendable {
    package let store: any DocumentStore

    package init(_ store: any DocumentStore) {
        self.store = store
    }
}

extension StoreUnderTest {
    func name(_ path: String) throws -> DocumentName { try DocumentName(database: store.database, path: path) }

    func path(_ text: String) throws -> FieldPath { try FieldPath(parsing: text) }

    @discardableResult
    func set(
        _ path: String, _ fields: [String: Value], mask: [String]? = nil, precondition: Precondition? = nil
    ) async throws -> Timestamp {
        let write = Write(
            .update(try name(path), fields: fields), mask: try mask?.map { try FieldPath(parsing: $0) },
            precondition: precondition)
        return try await store.commit([write]).commitTime
    }

    @discardableResult func delete(_ path: String, precondition: Precondition? = nil) async throws -> Timestamp {
        try await store.commit([Write(.delete(try name(path)), precondition: precondition)]).commitTime
    }

    func document(_ path: String, at moment: ReadMoment = .strong) async throws -> Document? {
        try await store.get(try name(path), at: moment).map { try Document($0) }
    }

    func fields(_ path: String, at moment: ReadMoment = .strong) async throws -> [String: Value]? {
        try await document(path, at: moment)?.fields
    }

    func query(
        _ collection: String, _ filter: Query.Filter? = nil, orders: [Query.Order] = [], limit: Int32? = nil,
        group: Bool = false
    ) -> Query {
        Query(
            parent: ParentName(store.database), collectionID: collection, allDescendants: group, filter: filter,
            orders: orders, limit: limit)
    }

    func paths(_ query: Query, at moment: ReadMoment = .strong) async throws -> [String] {
        var found: [String] = []
        for try await document in try await store.query(query, at: moment).documents {
            found.append(document.name.path)
        }
        return found
    }
}
