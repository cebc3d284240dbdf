package import DocumentModel
package import FirestoreProtocol

/// What `list` lists.
package struct DocumentListing: Sendable, Hashable {
    package var parent: ParentName
    /// Empty: all collections directly below the parent.
    package var collectionID: String
    /// 0: the store's own choice. A page may have fewer documents, above all if they are large.
    package var pageSize: Int32
    /// From the page before; empty for the first.
    package var pageToken: String
    /// Only of one collection.
    package var orders: [Query.Order]
    /// Also lists documents that do not exist but have something below them. Not with `orders`.
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
    /// The moment that a later page is of: that of the first one, which its token has. nil for a first page.
    /// - Throws: `DocumentStoreError` for a token that no page had.
    package var readTime: Timestamp? {
        get throws { try PageToken(parsing: pageToken)?.time }
    }

    /// The documents that are listed, and with an empty collection id those below them.
    var query: Query { Query(parent: parent, collectionID: collectionID, orders: orders) }

    func check() throws(DocumentStoreError) {
        guard !showMissing || orders.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "show_missing cannot be used with an order.")
        }
        guard !collectionID.isEmpty || orders.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "order_by needs a collection_id.")
        }
    }

    /// What a page token tells of the last document.
    func tokenText(_ last: DocumentName) -> String {
        collectionID.isEmpty ? "\(last.collectionID)/\(last.id)" : last.id
    }

    /// The document that a token tells of.
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
    /// Empty after the last page.
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
