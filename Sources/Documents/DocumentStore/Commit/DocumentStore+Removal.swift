import DocumentModel
import FirestoreProtocol

extension DocumentStore {
    /// Deletes the documents that name a user as their owner, and those without an owner that lie below these.
    ///
    /// Not atomic: after an interruption a second call deletes the rest.
    package func removeDocuments(of user: String) async throws {
        let everything = Query(
            parent: ParentName(database), collectionID: nil, allDescendants: true,
            projection: [FieldPath(key: DocumentOwner.field)])
        var owned: Set<DocumentName> = []
        var unnamed: [DocumentName] = []
        for try await document in try await query(everything).documents {
            switch try document.fields.decoded()[DocumentOwner.field] {
            case .string(user)?: owned.insert(document.name)
            case .string?: break
            default: if document.name.parent != nil { unnamed.append(document.name) }
            }
        }
        owned.formUnion(unnamed.filter { name in name.root.map { owned.contains($0) } ?? false })
        let names = Array(owned)
        let batch = 400
        for start in stride(from: 0, to: names.count, by: batch) {
            _ = try await commit(names[start...].prefix(batch).map { Write(.delete($0)) })
        }
    }
}
