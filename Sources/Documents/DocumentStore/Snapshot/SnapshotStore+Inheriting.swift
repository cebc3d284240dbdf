import DocumentModel
import FirestoreProtocol

extension SnapshotStore {
    /// Updates the documents that were stored before a field became inherited.
    package func alignInherited(_ field: String) async throws {
        var names: [DocumentName] = []
        try await forEachDocumentBelowOthers { document in
            if document.fields[field] != nil { names.append(document.name) }
        }
        for name in names { try await align(field, of: name) }
    }

    private func align(_ field: String, of name: DocumentName) async throws {
        guard let above = try await get(name.root ?? name), let encoded = try await get(name) else { return }
        let inherited = try above.fields.decoded()[field]
        guard try encoded.fields.decoded()[field] != inherited else { return }
        let fields = inherited.map { [field: $0] } ?? [:]
        _ = try await commit([Write(.update(name, fields: fields), mask: [FieldPath(key: field)])])
    }

    private func forEachDocumentBelowOthers(_ body: (Document) throws -> Void) async throws {
        let everything = Query(parent: ParentName(database), collectionID: nil, allDescendants: true)
        var documents = try await query(everything).documents.makeAsyncIterator()
        while let page = try await documents.nextPage() {
            for document in page where document.name.parent != nil { try body(Document(document)) }
        }
    }
}
