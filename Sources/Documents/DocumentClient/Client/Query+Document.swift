package import DocumentModel

extension Query {
    /// Creates the query whose only result is one document.
    package init(document name: DocumentName) {
        self.init(
            parent: name.parent.map { ParentName($0) } ?? ParentName(name.database), collectionID: name.collectionID,
            filter: .field(.documentName, .equal, .reference(name.description)))
    }

    /// The document of a query that `init(document:)` made; nil for other queries.
    var soleDocument: DocumentName? {
        guard case .field(.documentName, .equal, .reference(let text))? = filter,
            let name = try? DocumentName(parsing: text), self == Query(document: name)
        else { return nil }
        return name
    }
}
