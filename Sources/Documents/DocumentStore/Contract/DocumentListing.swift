package import DocumentModel
package import FirestoreProtocol

/// A request to list documents.
package struct DocumentListing: Sendable, Hashable {
    package var parent: ParentName
    /// The id of the collection; empty for all collections directly below the parent.
    package var collectionID: String
    /// The maximum number of documents; 0 for the store's default. A page may have fewer documents,
    /// in particular if they are large.
    package var pageSize: Int32
    /// The token of the previous page; empty for the first page.
    package var pageToken: String
    /// The order of the documents. Requires a collection id.
    package var orders: [Query.Order]
    /// Whether documents are included that do not exist but have documents below them. Cannot be
    /// combined with `orders`.
    package var showMissing: Bool

    package init(
        parent: ParentName, collectionID: String, pageSize: Int32 = 0, pageToken: String = "",
        orders: [Query.Order] = [], showMissing: Bool = false
    ) {
        self.parent = parent
        self.collectionID = collectionID
        self.pageSize = pageSize
        self.pageToken = pageToken
        self.orders = orders
        self.showMissing = showMissing
    }
}

extension DocumentListing {
    /// The read time of the first page, which the page token contains; nil for a first page.
    ///
    /// - Throws: `DocumentStoreError` for a token that no page returned.
    package var readTime: Timestamp? {
        get throws { try PageToken(parsing: pageToken)?.time }
    }

    /// A query for the listed documents. If the collection id is empty, it also matches the
    /// documents below them.
    var query: Query { Query(parent: parent, collectionID: collectionID, orders: orders) }

    func check() throws(DocumentStoreError) {
        guard !showMissing || orders.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "show_missing cannot be used with an order.")
        }
        guard !collectionID.isEmpty || orders.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "order_by needs a collection_id.")
        }
    }

    /// Returns the part of a page token that identifies the last document.
    func tokenText(_ last: DocumentName) -> String {
        collectionID.isEmpty ? "\(last.collectionID)/\(last.id)" : last.id
    }

    /// Returns the document that a token identifies.
    func name(of token: PageToken, in database: DatabaseName) throws(DocumentStoreError) -> DocumentName {
        let path = collectionID.isEmpty ? token.text : "\(collectionID)/\(token.text)"
        guard path.utf8.count(where: { $0 == UInt8(ascii: "/") }) == 1,
            let name = try? DocumentName(database: database, path: parent.collectionPath(path))
        else { throw PageToken.invalid }
        return name
    }
}

package struct DocumentPage: Sendable {
    package enum Entry: Sendable, Hashable {
        case document(EncodedDocument)
        case missing(DocumentName)
    }

    package let entries: [Entry]
    /// The token of the next page; empty after the last page.
    package let nextPageToken: String
    package let readTime: Timestamp
}

extension DocumentPage.Entry {
    package var name: DocumentName {
        switch self {
        case .document(let document): document.name
        case .missing(let name): name
        }
    }
}
