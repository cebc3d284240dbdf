import DocumentModel
import DocumentStore

/// Whose attachments a user may read besides his own: of those with whom he shares a list, whoever of both owns it.
struct SharedObjects: Sendable {
    let catalog: DatabaseCatalog

    /// - Parameters:
    ///   - prefix: of the user's keys, `<user>/`.
    ///   - other: of those that he asks for.
    @Sendable func shares(_ prefix: String, _ other: String) async throws -> Bool {
        let (user, owner) = (String(prefix.dropLast()), String(other.dropLast()))
        guard !user.isEmpty, !owner.isEmpty else { return false }
        let store = try await catalog.store(catalog.main)
        for (host, guest) in [(owner, user), (user, owner)] {
            var query = Query(
                parent: ParentName(catalog.main), collectionID: "lists",
                filter: .and([
                    .field(FieldPath(key: "userId"), .equal, .string(host)),
                    .field(FieldPath(key: "sharedWith"), .arrayContains, .string(guest)),
                ]))
            query.limit = 1
            let found = try await store.query(query, at: .strong).documents.first(where: { _ in true })
            if found != nil { return true }
        }
        return false
    }
}
