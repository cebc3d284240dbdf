import Cryptography
import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPCProtocol
import GRPCServer
import SystemIO

extension FirestoreService {
    func commit(_ request: CommitRequest, _ caller: Caller) async throws -> CommitResponse {
        let store = try await store(request.database, for: request.writes)
        let transaction =
            request.transaction.isEmpty ? nil : TransactionID(bytes: request.transaction, account: caller.account)
        let result = try await commit(request.writes, in: store, by: caller) {
            try await store.commit(request.writes, transaction: transaction, guarding: $0)
        }
        return CommitResponse(writeResults: result.writeResults, commitTime: result.commitTime)
    }

    func batchWrite(_ request: BatchWriteRequest, _ caller: Caller) async throws -> BatchWriteResponse {
        let store = try await store(request.database, for: request.writes)
        let results = try await commit(request.writes, in: store, by: caller) {
            try await store.batchWrite(request.writes, guarding: $0)
        }
        for case .failure(let error) in results { noteCause(of: error) }
        return BatchWriteResponse(
            writeResults: results.map { (try? $0.get()) ?? WriteResult(updateTime: nil) },
            statuses: results.map { result in
                switch result {
                case .success: RPCStatus()
                case .failure(let error): RPCStatus(error)
                }
            })
    }

    func beginTransaction(_ request: BeginTransactionRequest, _ caller: Caller) async throws
        -> BeginTransactionResponse
    {
        // A transaction holds locks, so it needs a signed-in caller. Its reads and writes are
        // checked separately.
        guard caller != .nobody else { throw DocumentStoreError.unauthenticated }
        let id = try await catalog.store(request.database).beginTransaction(
            StoreTransactionOptions(request.options, by: caller), for: caller.account)
        return BeginTransactionResponse(transaction: id.bytes)
    }

    func rollback(_ request: RollbackRequest, _ caller: Caller) async throws -> EmptyMessage {
        guard caller != .nobody else { throw DocumentStoreError.unauthenticated }
        try await catalog.store(request.database).rollback(
            TransactionID(bytes: request.transaction, account: caller.account))
        return EmptyMessage()
    }

    func createDocument(_ request: CreateDocumentRequest, _ caller: Caller) async throws -> DocumentDraft {
        guard request.document.name.isEmpty else {
            throw DocumentStoreError(
                .invalidArgument, "Document name must not be set: parent, collection_id and document_id name it.")
        }
        // Neither may contain a slash, which would make the name one of another collection.
        try DocumentName.check(request.collectionID[...], isCollection: true)
        let id = request.documentID.isEmpty ? newID() : request.documentID
        try DocumentName.check(id[...], isCollection: false)
        let name = try DocumentName(
            database: request.parent.database, collection: request.parent.collectionPath(request.collectionID), id: id)
        let write = Write(
            .update(name, fields: try request.document.fields.decoded()), precondition: .exists(false))
        return try await apply(write, mask: request.mask, caller)
    }

    func updateDocument(_ request: UpdateDocumentRequest, _ caller: Caller) async throws -> DocumentDraft {
        let name = try DocumentName(parsing: request.document.name)
        let write = Write(
            .update(name, fields: try request.document.fields.decoded()), mask: request.updateMask,
            precondition: request.precondition)
        return try await apply(write, mask: request.mask, caller)
    }

    func deleteDocument(_ request: DeleteDocumentRequest, _ caller: Caller) async throws -> EmptyMessage {
        let write = Write(.delete(request.name), precondition: request.precondition)
        let store = try await catalog.store(request.name.database)
        _ = try await commit([write], in: store, by: caller) {
            try await store.commit([write], transaction: nil, guarding: $0)
        }
        return EmptyMessage()
    }

    /// Commits a write, and returns the document as that commit left it.
    private func apply(_ write: Write, mask: [FieldPath]?, _ caller: Caller) async throws -> DocumentDraft {
        let store = try await catalog.store(write.name.database)
        let result = try await commit([write], in: store, by: caller) {
            try await store.commit([write], transaction: nil, guarding: $0)
        }
        let read = try await store.get([write.name], at: .at(result.commitTime))
        guard let document = read.documents.first ?? nil else {
            throw DocumentStoreError(.internal, "The document is gone right after it was written.")
        }
        return DocumentDraft(try document.masked(mask))
    }

    /// Returns a new document id in the form of the client SDKs: 20 letters and digits.
    private func newID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var generator = environment
        return String(
            decoding: (0..<20).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] }, as: UTF8.self
        )
    }

    /// Handles a Write stream: a handshake, then one atomic commit for each request, in order.
    ///
    /// A token counts the commits that were answered. A client that lost its stream names the
    /// stream and the last token in a new handshake, and repeats the requests that were not
    /// answered. A request that was committed before the loss gets its original answer and is not
    /// committed again.
    func write(_ call: GRPCServerCall) async throws {
        let caller = try authenticator.admit(call)
        guard let first = try await call.next() else { return }
        let (database, token) = try await usage.decoding(first, for: caller) { (handshake: WriteRequest) in
            guard let database = handshake.database else {
                throw DocumentStoreError(
                    .invalidArgument, "The first request of a write stream must name the database.")
            }
            guard handshake.writes.isEmpty else {
                throw DocumentStoreError(.invalidArgument, "The first request of a write stream must have no writes.")
            }
            return (database, try WriteStreamToken(resuming: handshake))
        }
        try usage.take(.writeStreams, for: caller)
        defer { usage.release(.writeStreams, for: caller) }
        try await call.send(WriteResponse(streamID: token.stream, streamToken: token.bytes).encoded())
        await watch.run(
            call, of: caller, [{ try await acceptWrites(call, database, caller, token) }], status: status(of:))
    }

    private func acceptWrites(
        _ call: GRPCServerCall, _ database: DatabaseName, _ caller: Caller, _ token: WriteStreamToken
    ) async throws {
        var token = token
        while let bytes = try await call.next() {
            if case .user(_, let expires?, _, _) = caller {
                if expires <= now() { throw DocumentStoreError.tokenExpired }
                try authenticator.admit(caller)
            }
            let response = try await usage.decoding(bytes, for: caller) { (request: WriteRequest) in
                guard !request.writes.isEmpty else { return WriteResponse(streamToken: token.bytes) }
                token.count += 1
                return try await accept(request.writes, database, caller, token)
            }
            try await call.send(response.encoded())
        }
    }

    private func accept(
        _ writes: [Write], _ database: DatabaseName, _ caller: Caller, _ token: WriteStreamToken
    ) async throws -> WriteResponse {
        let position = StreamPosition(
            stream: "\(caller.streamOwner)/\(token.stream)", number: token.count,
            digest: SHA256.hash(WriteRequest(writes: writes).encoded()).bytes)
        let store = try await store(database, for: writes)
        let result = try await commit(writes, in: store, by: caller) {
            try await store.commit(writes, at: position, guarding: $0)
        }
        return WriteResponse(streamToken: token.bytes, writeResults: result.writeResults, commitTime: result.commitTime)
    }
}

/// The id of a write stream, and the number of its commits that were answered.
struct WriteStreamToken {
    let stream: String
    var count: Int64

    var bytes: [UInt8] { Array("\(stream):\(count)".utf8) }

    /// Creates the token of the stream that a handshake resumes, or of a new stream.
    init(resuming handshake: WriteRequest) throws(DocumentStoreError) {
        guard !handshake.streamID.isEmpty, !handshake.streamToken.isEmpty else {
            // The id is random, so that other clients cannot guess it.
            self.init(stream: SystemRandom.hex(16), count: 0)
            return
        }
        let parts = handshake.streamToken.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].elementsEqual(handshake.streamID.utf8), parts[0].count == 32,
            let count = Int64(String(decoding: parts[1], as: UTF8.self)), count >= 0, count < .max
        else { throw DocumentStoreError(.invalidArgument, "The stream token is not of the stream.") }
        self.init(stream: handshake.streamID, count: count)
    }

    private init(stream: String, count: Int64) {
        self.stream = stream
        self.count = count
    }
}

extension Caller {
    fileprivate var streamOwner: String {
        switch self {
        case .administrator: "administrator"
        case .user(let id, _, _, _): "user \(id)"
        case .nobody: "nobody"
        }
    }
}
