package import DocumentModel
import FirestoreProtocol

extension SQLiteDocumentStore {
    private static let defaultPageSize = 300
    private static let maximumPageSize = 1000

    package func list(_ listing: DocumentListing, at moment: ReadMoment) async throws -> DocumentPage {
        let size = try Self.checkedPageSize(listing.pageSize)
        guard !listing.showMissing || listing.orders.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "show_missing cannot be used with an order.")
        }
        let token = try PageToken(parsing: listing.pageToken)
        var query = Query(parent: listing.parent, collectionID: listing.collectionID, orders: listing.orders)
        query.limit = Int32(size) + 1
        _ = try checked(query)
        let predicate = LockTable.LockedQuery(try QueryPlan(query))
        // A later page is of the moment of the first, unless the caller says otherwise.
        let actual: ReadMoment = if case .strong = moment, let time = token?.time { .at(time) } else { moment }
        let base = query
        return try await read(at: actual, locking: ([], [predicate])) { [database] tables, visible, time in
            var query = base
            if let token {
                let last = try DocumentName(
                    database: database, path: "\(listing.parent.collectionPath(listing.collectionID))/\(token.text)")
                query.start = try Self.cursor(after: last, orders: try QueryPlan(base).orders, in: tables, at: time)
            }
            let documents = try QueryExecution.all(try QueryPlan(query), at: time, in: tables, visible: visible)
            var entries = documents.map(DocumentPage.Entry.document)
            if listing.showMissing {
                let collection = listing.parent.collectionPath(listing.collectionID)
                let missing = try SubcollectionReader(tables: tables, time: time)
                    .missingDocuments(in: collection, after: token?.text, limit: size + 1)
                entries = (entries + missing.map(DocumentPage.Entry.missing)).sorted { $0.name < $1.name }
            }
            var next = ""
            if entries.count > size {
                entries.removeLast(entries.count - size)
                next = PageToken(time: Timestamp(microseconds: time), text: entries.last?.name.id ?? "").description
            }
            return DocumentPage(entries: entries, nextPageToken: next, readTime: Timestamp(microseconds: time))
        }
    }

    /// The position after a document in a listing's order, for the next page.
    private static func cursor(
        after name: DocumentName, orders: [Query.Order], in tables: DocumentTables, at time: Int64
    ) throws -> Query.Cursor {
        guard orders.count > 1 else { return Query.Cursor([.reference(name.description)], before: false) }
        guard let encoded = try tables.document(name, at: time) else { throw PageToken.invalid }
        let document = try Document(encoded)
        return Query.Cursor(orders.map { document.queryValue(at: $0.path) ?? .null }, before: false)
    }

    package func listCollectionIDs(
        parent: ParentName, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> CollectionIDPage {
        try DocumentStoreError.checkDatabase(parent.database, is: database)
        let size = try Self.checkedPageSize(pageSize)
        let token = try PageToken(parsing: pageToken)
        let actual: ReadMoment = if case .strong = moment, let time = token?.time { .at(time) } else { moment }
        return try await read(at: actual) { tables, _, time in
            var ids = try SubcollectionReader(tables: tables, time: time)
                .collectionIDs(below: parent.path, after: token?.text, limit: size + 1)
            var next = ""
            if ids.count > size {
                ids.removeLast(ids.count - size)
                next = PageToken(time: Timestamp(microseconds: time), text: ids.last ?? "").description
            }
            return CollectionIDPage(ids: ids, nextPageToken: next)
        }
    }

    package func partition(_ query: Query, count: Int64, at moment: ReadMoment) async throws -> [DocumentName] {
        let plan = try checked(query)
        guard query.allDescendants, query.filter == nil, query.limit == nil, query.offset == 0, query.start == nil,
            query.end == nil, query.orders.allSatisfy({ $0.path.isDocumentName && !$0.descending })
        else {
            throw DocumentStoreError(
                .invalidArgument,
                "A query to partition must be a collection group query ordered by __name__ ascending, without filters, "
                    + "limits, offsets, and cursors.")
        }
        guard count > 0 else { throw DocumentStoreError(.invalidArgument, "partition_count must be greater than 0.") }
        return try await read(at: moment) { tables, visible, time in
            let names = try QueryExecution.all(plan, at: time, in: tables, visible: visible).map(\.name)
            guard names.count >= 128 else { return [] }
            let parts = Int(min(count, Int64(names.count / 64))) + 1
            return (1..<parts).map { names[$0 * names.count / parts] }
        }
    }

    private static func checkedPageSize(_ size: Int32) throws(DocumentStoreError) -> Int {
        guard size >= 0 else { throw DocumentStoreError(.invalidArgument, "Page size must be nonnegative.") }
        return size == 0 ? defaultPageSize : min(Int(size), maximumPageSize)
    }
}

extension DocumentPage.Entry {
    package var name: DocumentName {
        switch self {
        case .document(let document): document.name
        case .missing(let name): name
        }
    }
}
