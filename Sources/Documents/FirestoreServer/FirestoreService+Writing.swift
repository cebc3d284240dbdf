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
        // Transactions hold locks, so a stranger may not begin one; what it reads and writes is checked on its own.
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
        // Neither may hold a slash, which would make it a document of another collection.
        try DocumentName.check(request.collectionID[...], isCollection: true)
        let id = request.documentID.isEmpty ? Self.newID() : request.documentID
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

    /// Commits one write and answers the document as that commit left it.
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

    /// An id as clients make them: 20 letters and digits.
    private static func newID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<20).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] }, as: UTF8.self
        )
    }

    /// The Write stream: a handshake, then one atomic commit a request, in order.
    ///
    /// A token counts the commits that were answered. A client that lost its stream names it and
    /// the last token in a new handshake and sends what was not answered again: what was committed
    /// all the same is answered as it was, once.
    func write(_ call: GRPCServerCall) async throws {
        let caller = try authenticator.admit(call)
        guard let first = try await call.next() else { return }
        let handshake: WriteRequest = try Self.decode(first)
        guard let database = handshake.database else {
            throw DocumentStoreError(.invalidArgument, "The first request of a write stream must name the database.")
        }
        guard handshake.writes.isEmpty else {
            throw DocumentStoreError(.invalidArgument, "The first request of a write stream must have no writes.")
        }
        let token = try WriteStreamToken(resuming: handshake)
        try usage.take(.writeStreams, for: caller)
        defer { usage.release(.writeStreams, for: caller) }
        try await call.send(WriteResponse(streamID: token.stream, streamToken: token.bytes).encoded())
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await acceptWrites(call, database, caller, token) }
            group.addTask {
                await closing.wait()
                throw Self.stopping
            }
            let credential = CredentialWatch(caller: caller, call: call, authenticator: authenticator, now: now)
            group.addTask { try await credential.run() }
            // Whichever ends first ends the call, and with it the others.
            if case .failure(let error)? = await group.nextResult() {
                call.finish(status(of: error))
            } else {
                call.finish(.ok)
            }
            group.cancelAll()
        }
    }

    private func acceptWrites(
        _ call: GRPCServerCall, _ database: DatabaseName, _ caller: Caller, _ token: WriteStreamToken
    ) async throws {
        var token = token
        while let bytes = try await call.next() {
            let request: WriteRequest = try Self.decode(bytes)
            if case .user(_, let expires?, _) = caller {
                if expires <= now() { throw DocumentStoreError.tokenExpired }
                try authenticator.admit(caller)
            }
            guard !request.writes.isEmpty else {
                try await call.send(WriteResponse(streamToken: token.bytes).encoded())
                continue
            }
            token.count += 1
            let position = StreamPosition(
                stream: "\(caller.streamOwner)/\(token.stream)", number: token.count,
                digest: SHA256.hash(WriteRequest(writes: request.writes).encoded()).bytes)
            let store = try await store(database, for: request.writes)
            let result = try await commit(request.writes, in: store, by: caller) {
                try await store.commit(request.writes, at: position, guarding: $0)
            }
            let response = WriteResponse(
                streamToken: token.bytes, writeResults: result.writeResults, commitTime: result.commitTime)
            try await call.send(response.encoded())
        }
    }
}

/// A write stream's id, and how many of its commits were answered.
struct WriteStreamToken {
    let stream: String
    var count: Int64

    var bytes: [UInt8] { Array("\(stream):\(count)".utf8) }

    /// Goes on with the stream that a handshake names together with a token, or begins a new one.
    init(resuming handshake: WriteRequest) throws(DocumentStoreError) {
        guard !handshake.streamID.isEmpty, !handshake.streamToken.isEmpty else {
            // Nobody can guess it.
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
        case .user(let id, _, _): "user \(id)"
        case .nobody: "nobody"
        }
    }
}
