import DocumentModel
import DocumentStore
import FirestoreProtocol

extension FirestoreService {
    /// The maximum number of documents of a request that are in memory at once.
    private static let batchSize = 300
    /// The number of bytes at which a batch ends before it has `batchSize` documents.
    private static let batchBytes = 1 << 20

    func getDocument(_ request: GetDocumentRequest, _ caller: Caller) async throws -> DocumentDraft {
        let store = try await catalog.store(request.name.database)
        let (read, _) = try await get([request.name], request.consistency, in: store, by: caller)
        guard let document = read.documents.first ?? nil else {
            throw DocumentStoreError(.notFound, "Document \"\(request.name)\" not found.")
        }
        return DocumentDraft(try document.masked(request.mask))
    }

    /// Reads documents by name, up to `batchBytes`, if the rules allow it.
    private func get(
        _ names: [DocumentName], _ consistency: ReadConsistency?, in store: any DocumentStore, by caller: Caller
    ) async throws -> (result: GetResult, transaction: [UInt8]) {
        // A plain read is checked after the read, because the documents themselves decide.
        guard let consistency else {
            let result = try await store.get(names, at: .strong, byteLimit: Self.batchBytes)
            try await access.check(
                get: Array(names.prefix(result.documents.count)), result.documents, in: store, by: caller)
            return (result, [])
        }
        return try await store.reading(consistency, by: caller) { past in
            try await access.check(get: names, asOf: past, in: store, by: caller)
        } _: { moment in
            let result = try await store.get(names, at: moment, byteLimit: Self.batchBytes)
            if case .transaction(let id) = moment, try await store.readTime(of: id) == nil {
                // The documents may have changed before they were locked.
                try await access.check(
                    get: Array(names.prefix(result.documents.count)), result.documents, in: store, by: caller)
            }
            return result
        }
    }

    func batchGetDocuments(_ request: BatchGetDocumentsRequest, _ caller: Caller, _ send: Send) async throws {
        for name in request.documents where name.database != request.database {
            throw DocumentStoreError(
                .invalidArgument,
                "The request was for database '\(request.database)' but was attempting to access database '\(name.database)'"
            )
        }
        let store = try await catalog.store(request.database)
        var seen = Set<DocumentName>()
        let names = request.documents.filter { seen.insert($0).inserted }
        var rest = names[...]
        var missing: [BatchGetDocumentsResponse] = []
        var consistency = request.consistency
        // Documents may be large, so not all are in memory at once.
        repeat {
            let part = Array(rest.prefix(Self.batchSize))
            let (result, transaction) = try await get(part, consistency, in: store, by: caller)
            // All batches are read as of the time of the first one.
            if !transaction.isEmpty { consistency = .transaction(transaction) }
            consistency = consistency ?? .readTime(result.readTime)
            if !transaction.isEmpty || names.isEmpty {
                try await send(
                    BatchGetDocumentsResponse(
                        transaction: transaction, readTime: names.isEmpty ? result.readTime : nil
                    ).encoded())
            }
            // Production sends found documents first and missing ones last.
            for (name, document) in zip(part, result.documents) {
                guard let document else {
                    missing.append(BatchGetDocumentsResponse(result: .missing(name), readTime: result.readTime))
                    continue
                }
                let found = BatchGetDocumentsResponse(
                    result: .found(try document.masked(request.mask)), readTime: result.readTime)
                try await send(found.encoded())
            }
            rest = rest.dropFirst(result.documents.count)
        } while !rest.isEmpty
        for response in missing { try await send(response.encoded()) }
    }

    func listDocuments(_ request: ListDocumentsRequest, _ caller: Caller) async throws -> ListDocumentsResponse {
        let store = try await catalog.store(request.parent.database)
        let listing = DocumentListing(
            parent: request.parent, collectionID: request.collectionID, pageSize: request.pageSize,
            pageToken: request.pageToken, orders: try Self.orders(request.orderBy), showMissing: request.showMissing)
        // A later page is read as of the time of the first one.
        let consistency = try request.consistency ?? listing.readTime.map { .readTime($0) }
        let (page, _) = try await store.reading(consistency, by: caller) { past in
            try await access.check(listing: request.parent, asOf: past, in: store, by: caller)
        } _: { moment in
            try await store.list(listing, at: moment, for: caller.account)
        }
        let documents = try page.entries.map { entry in
            switch entry {
            case .document(let document): DocumentDraft(try document.masked(request.mask))
            case .missing(let name): DocumentDraft(name: name.description)
            }
        }
        return ListDocumentsResponse(documents: documents, nextPageToken: page.nextPageToken)
    }

    /// Parses orders in the form `a, b desc`.
    private static func orders(_ text: String) throws -> [Query.Order] {
        guard !text.isEmpty else { return [] }
        return try text.split(separator: ",", omittingEmptySubsequences: false).map { clause in
            let words = clause.split(separator: " ")
            let direction = words.count == 2 ? words[1].lowercased() : "asc"
            guard (1...2).contains(words.count), ["asc", "desc"].contains(direction) else {
                throw DocumentStoreError(.invalidArgument, "Invalid order by clause \"\(text)\".")
            }
            return Query.Order(try FieldPath(parsing: String(words[0])), descending: direction == "desc")
        }
    }

    func listCollectionIDs(_ request: ListCollectionIDsRequest, _ caller: Caller) async throws
        -> ListCollectionIDsResponse
    {
        let store = try await catalog.store(request.parent.database)
        let listing = DocumentListing(parent: request.parent, collectionID: "", pageToken: request.pageToken)
        let past = try request.readTime ?? listing.readTime
        try await access.check(listing: request.parent, asOf: past, in: store, by: caller)
        let page = try await store.listCollectionIDs(
            parent: request.parent, pageSize: request.pageSize, pageToken: request.pageToken,
            at: past.map { .at($0) } ?? .strong)
        return ListCollectionIDsResponse(collectionIDs: page.ids, nextPageToken: page.nextPageToken)
    }
}
