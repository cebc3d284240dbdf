import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPC

extension FirestoreService {
    /// How many documents of one request are held at a time.
    private static let batchSize = 300

    func getDocument(_ request: GetDocumentRequest, _ caller: Caller) async throws -> DocumentDraft {
        let store = try await catalog.store(request.name.database)
        let (document, _) = try await reading(request.consistency, in: store) { moment in
            try await store.get([request.name], at: moment).documents.first ?? nil
        }
        try await access.check(get: [request.name], [document], in: store, by: caller)
        guard let document else {
            throw DocumentStoreError(.notFound, "Document \"\(request.name)\" not found.")
        }
        return DocumentDraft(try document.masked(request.mask))
    }

    func batchGetDocuments(_ request: BatchGetDocumentsRequest, _ caller: Caller, _ call: GRPCServerCall) async throws {
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
        var moment = ReadMoment.strong
        // Documents may be large, so not all are held at once.
        repeat {
            let part = Array(rest.prefix(Self.batchSize))
            let selector = rest.count == names.count ? request.consistency : nil
            let (result, transaction) = try await reading(selector, in: store) { first in
                if selector != nil { moment = first }
                let result = try await store.get(part, at: moment)
                try await access.check(get: part, result.documents, in: store, by: caller)
                return result
            }
            // All of them are of the moment of the first.
            if case .strong = moment { moment = .at(result.readTime) }
            if !transaction.isEmpty || names.isEmpty {
                try await call.send(
                    BatchGetDocumentsResponse(
                        transaction: transaction, readTime: names.isEmpty ? result.readTime : nil
                    ).encoded())
            }
            // Found ones first, missing ones last, as production has it.
            for (name, document) in zip(part, result.documents) {
                guard let document else {
                    missing.append(BatchGetDocumentsResponse(result: .missing(name), readTime: result.readTime))
                    continue
                }
                let found = BatchGetDocumentsResponse(
                    result: .found(try document.masked(request.mask)), readTime: result.readTime)
                try await call.send(found.encoded())
            }
            rest = rest.dropFirst(part.count)
        } while !rest.isEmpty
        for response in missing { try await call.send(response.encoded()) }
    }

    func listDocuments(_ request: ListDocumentsRequest, _ caller: Caller) async throws -> ListDocumentsResponse {
        let store = try await catalog.store(request.parent.database)
        try await access.check(listing: request.parent, in: store, by: caller)
        let listing = DocumentListing(
            parent: request.parent, collectionID: request.collectionID, pageSize: request.pageSize,
            pageToken: request.pageToken, orders: try Self.orders(request.orderBy), showMissing: request.showMissing)
        let (page, _) = try await reading(request.consistency, in: store) { try await store.list(listing, at: $0) }
        let documents = try page.entries.map { entry in
            switch entry {
            case .document(let document): DocumentDraft(try document.masked(request.mask))
            case .missing(let name): DocumentDraft(name: name.description)
            }
        }
        return ListDocumentsResponse(documents: documents, nextPageToken: page.nextPageToken)
    }

    /// `a, b desc` as orders.
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
        try await access.check(listing: request.parent, in: store, by: caller)
        let page = try await store.listCollectionIDs(
            parent: request.parent, pageSize: request.pageSize, pageToken: request.pageToken,
            at: request.readTime.map { .at($0) } ?? .strong)
        return ListCollectionIDsResponse(collectionIDs: page.ids, nextPageToken: page.nextPageToken)
    }
}
