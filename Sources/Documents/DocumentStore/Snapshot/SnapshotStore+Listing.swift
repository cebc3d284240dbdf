package import DocumentModel
import FirestoreProtocol

extension SnapshotStore {
    private static var defaultPageSize: Int { 300 }
    private static var maximumPageSize: Int { 1000 }

    /// The size of documents in bytes at which a page ends, so that clients with a message limit
    /// can receive it.
    private static var pageBytes: Int { 4 << 20 }

    package func list(
        _ listing: DocumentListing, at moment: ReadMoment, for account: String?
    ) async throws -> DocumentPage {
        let size = try Self.checkedPageSize(listing.pageSize)
        try listing.check()
        let token = try PageToken(parsing: listing.pageToken)
        let predicate = LockTable.LockedQuery(try checked(listing.query))
        // A later page has the read time of the first, unless the caller requests another.
        let actual: ReadMoment = if case .strong = moment, let time = token?.time { .at(time) } else { moment }
        return try await read(at: actual, locking: ([], [predicate]), for: account) {
            [database] snapshot, visible, time in
            let last = try token.map { try listing.name(of: $0, in: database) }
            var page = (entries: [DocumentPage.Entry](), isCut: false)
            for collectionID in try Self.collectionIDs(of: listing, from: last, in: snapshot, at: time) {
                var part = listing
                part.collectionID = collectionID
                let found = try Self.entries(
                    of: part, after: last?.collectionID == collectionID ? last : nil, limit: size - page.entries.count,
                    in: snapshot, visible: visible, at: time)
                page.entries += found.entries
                page.isCut = found.isCut
                if found.isCut { break }
                if page.entries.count >= size, listing.collectionID.isEmpty {
                    // The next page determines whether there are more.
                    page.isCut = true
                    break
                }
            }
            var next = ""
            if page.isCut, let last = page.entries.last {
                next = PageToken(time: Timestamp(microseconds: time), text: listing.tokenText(last.name)).description
            }
            return DocumentPage(entries: page.entries, nextPageToken: next, readTime: Timestamp(microseconds: time))
        }
    }

    /// Returns the collections to list, in ascending order, starting with that of the last
    /// document.
    private static func collectionIDs(
        of listing: DocumentListing, from last: DocumentName?, in snapshot: any StoreSnapshot, at time: Int64
    ) throws -> [String] {
        guard listing.collectionID.isEmpty else { return [listing.collectionID] }
        let later = try SubcollectionReader(snapshot: snapshot, time: time)
            .collectionIDs(below: listing.parent.path, after: last?.collectionID, limit: .max)
        return [last?.collectionID].compactMap(\.self) + later
    }

    /// Returns the entries of one collection after `last`; `isCut` if there are more.
    private static func entries(
        of listing: DocumentListing, after last: DocumentName?, limit: Int, in snapshot: any StoreSnapshot,
        visible: Int64,
        at time: Int64
    ) throws -> (entries: [DocumentPage.Entry], isCut: Bool) {
        var query = listing.query
        query.limit = Int32(clamping: limit + 1)
        if let last {
            query.start = try cursor(after: last, orders: try QueryPlan(query).orders, in: snapshot, at: time)
        }
        var execution = QueryExecution(plan: try QueryPlan(query), readTime: time)
        var documents: [EncodedDocument] = []
        var bytes = 0
        var isCut = false
        while !isCut {
            let page = try execution.nextPage(in: snapshot, visible: visible)
            for document in page.documents where !isCut {
                isCut = documents.count == limit || bytes >= pageBytes
                if !isCut {
                    documents.append(document)
                    bytes += document.fields.bytes.count
                }
            }
            if page.isLast { break }
        }
        var entries = documents.map(DocumentPage.Entry.document)
        if listing.showMissing {
            let collection = listing.parent.collectionPath(listing.collectionID)
            var missing = try SubcollectionReader(snapshot: snapshot, time: time)
                .missingDocuments(in: collection, after: last?.id, limit: limit + 1)
            // Missing documents after the last document of a page that was cut belong to later
            // pages.
            if isCut, let end = documents.last?.name { missing.removeAll { $0 > end } }
            entries = (entries + missing.map(DocumentPage.Entry.missing)).sorted { $0.name < $1.name }
            if entries.count > limit {
                entries.removeLast(entries.count - limit)
                isCut = true
            }
        }
        return (entries, isCut)
    }

    /// Returns the position after a document in a listing's order, for the next page.
    private static func cursor(
        after name: DocumentName, orders: [Query.Order], in snapshot: any StoreSnapshot, at time: Int64
    ) throws -> Query.Cursor {
        guard orders.count > 1 else { return Query.Cursor([.reference(name.description)], before: false) }
        guard let encoded = try snapshot.document(name, at: time) else { throw PageToken.invalid }
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
        return try await read(at: actual) { snapshot, _, time in
            var ids = try SubcollectionReader(snapshot: snapshot, time: time)
                .collectionIDs(below: parent.path, after: token?.text, limit: size + 1)
            var next = ""
            if ids.count > size {
                ids.removeLast(ids.count - size)
                next = PageToken(time: Timestamp(microseconds: time), text: ids.last ?? "").description
            }
            return CollectionIDPage(ids: ids, nextPageToken: next)
        }
    }

    package func partition(
        _ query: Query, count: Int64, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> PartitionPage {
        try query.checkPartition(count: count, pageSize: pageSize)
        var query = query
        query.projection = [.documentName]
        let plan = try checked(query)
        let token = try PageToken(parsing: pageToken)
        let actual: ReadMoment = if case .strong = moment, let time = token?.time { .at(time) } else { moment }
        return try await read(at: actual) { snapshot, visible, time in
            var execution = QueryExecution(plan: plan, readTime: time)
            var names: [DocumentName] = []
            while true {
                let page = try execution.nextPage(in: snapshot, visible: visible)
                names += page.documents.map(\.name)
                if page.isLast { break }
            }
            return PartitionPage(
                of: names, count: count, pageSize: pageSize, after: token, at: Timestamp(microseconds: time))
        }
    }

    private static func checkedPageSize(_ size: Int32) throws(DocumentStoreError) -> Int {
        guard size >= 0 else { throw DocumentStoreError(.invalidArgument, "Page size must be nonnegative.") }
        return size == 0 ? defaultPageSize : min(Int(size), maximumPageSize)
    }
}
