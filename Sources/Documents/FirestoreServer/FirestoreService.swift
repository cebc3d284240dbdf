package import DocumentModel
import DocumentStore
package import FirestoreProtocol
import GRPCProtocol
package import GRPCServer
package import SystemIO

/// The service `google.firestore.v1.Firestore` over the databases of a server.
package struct FirestoreService: Sendable {
    /// The maximum size of a request in bytes, over gRPC and REST, as in production.
    package static let requestLimit = 10 << 20

    let catalog: any DocumentStoreProvider
    package let authenticator: any CallerAuthenticator
    let access: any DocumentAccessPolicy
    let usage = AccountMeter()
    let watch: StreamWatch
    /// The server's clock in seconds since 1970.
    let now: @Sendable () -> Int64
    let environment: Environment
    /// Receives the errors that clients see as INTERNAL.
    let onError: @Sendable (any Error) -> Void
    let metrics: CallMetrics?

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - closing: A gate that opens when the server stops, and ends the streams.
    ///   - now: The server's clock in seconds since 1970, by which streams with an expired token end.
    ///   - onError: Receives the errors that clients see as INTERNAL.
    package init(
        catalog: any DocumentStoreProvider, authenticator: any CallerAuthenticator, access: any DocumentAccessPolicy,
        closing: AsyncGate, now: @escaping @Sendable () -> Int64, environment: Environment = .system,
        metrics: CallMetrics? = nil, onError: @escaping @Sendable (any Error) -> Void
    ) {
        self.catalog = catalog
        self.authenticator = authenticator
        self.access = access
        watch = StreamWatch(authenticator, closing: closing, now: now, environment: environment)
        self.now = now
        self.environment = environment
        self.onError = onError
        self.metrics = metrics
    }

    /// The routes of all RPCs of the service.
    package var routes: GRPCRoutes {
        var routes = GRPCRoutes()
        for (name, method) in methods {
            switch method.handle {
            case .unary(let handle):
                routes[Self.path(name)] = .unary { bytes, call in
                    try await answering {
                        let caller = try authenticator.admit(call)
                        return try await holding(method.resource, for: caller) { try await handle(bytes, caller) }
                    }
                }
            case .streaming(let handle):
                routes[Self.path(name)] = .streaming { call in
                    try await answering {
                        let caller = try authenticator.admit(call)
                        guard let bytes = try await call.next() else {
                            throw DocumentStoreError(.invalidArgument, "The request is missing.")
                        }
                        try await holding(method.resource, for: caller) {
                            try await handle(bytes, caller) { try await call.send($0) }
                        }
                    }
                }
            }
        }
        routes[Self.path("Listen")] = .streaming { call in
            try await answering { try await measuringStream("Listen") { try await listen(call) } }
        }
        routes[Self.path("Write")] = .streaming { call in
            try await answering { try await measuringStream("Write") { try await write(call) } }
        }
        return routes
    }

    /// A method with one request, without its transport.
    struct Method: Sendable {
        enum Handler: Sendable {
            case unary(@Sendable (_ request: [UInt8], _ caller: Caller) async throws -> [UInt8])
            case streaming(
                @Sendable (_ request: [UInt8], _ caller: Caller, _ send: Send) async throws -> Void)
        }

        /// The resource of which one unit counts for the caller while the method runs; nil for none.
        var resource: AccountHoldings.Resource?
        var handle: Handler
    }

    /// Sends an encoded message of an answer, and returns when there is room for the next one.
    typealias Send = @Sendable (_ message: [UInt8]) async throws -> Void

    /// The methods with one request, by name.
    var methods: [String: Method] {
        var methods: [String: Method] = [:]
        func unary<Request: ProtobufMessage, Response: ProtobufMessage>(
            _ name: String, holding resource: AccountHoldings.Resource? = nil,
            _ handle: @escaping @Sendable (Request, Caller) async throws -> Response
        ) {
            methods[name] = Method(
                resource: resource,
                handle: .unary { bytes, caller in
                    try await measuringCall(name) {
                        try await usage.decoding(bytes, for: caller) { try await handle($0, caller).encoded() }
                    }
                })
        }
        func streaming<Request: ProtobufMessage>(
            _ name: String, _ handle: @escaping @Sendable (Request, Caller, Send) async throws -> Void
        ) {
            methods[name] = Method(
                resource: .reads,
                handle: .streaming { bytes, caller, send in
                    try await measuringCall(name) {
                        try await usage.decoding(bytes, for: caller) { try await handle($0, caller, send) }
                    }
                })
        }
        unary("GetDocument") { try await getDocument($0, $1) }
        unary("ListDocuments", holding: .reads) { try await listDocuments($0, $1) }
        unary("CreateDocument", holding: .commits) { try await createDocument($0, $1) }
        unary("UpdateDocument", holding: .commits) { try await updateDocument($0, $1) }
        unary("DeleteDocument", holding: .commits) { try await deleteDocument($0, $1) }
        unary("BeginTransaction") { try await beginTransaction($0, $1) }
        unary("Commit", holding: .commits) { try await commit($0, $1) }
        unary("Rollback") { try await rollback($0, $1) }
        unary("PartitionQuery", holding: .reads) { try await partitionQuery($0, $1) }
        unary("ListCollectionIds", holding: .reads) { try await listCollectionIDs($0, $1) }
        unary("BatchWrite", holding: .commits) { try await batchWrite($0, $1) }
        streaming("BatchGetDocuments") { try await batchGetDocuments($0, $1, $2) }
        streaming("RunQuery") { try await runQuery($0, $1, $2) }
        streaming("RunAggregationQuery") { try await runAggregationQuery($0, $1, $2) }
        streaming("ExecutePipeline") { (request: ExecutePipelineRequest, _, _) in
            _ = try await catalog.store(request.database)
            throw Self.pipelinesRefused
        }
        return methods
    }

    /// Runs `body` while one unit of a resource, if any, counts for the caller.
    func holding<Result>(
        _ resource: AccountHoldings.Resource?, for caller: Caller, _ body: () async throws -> Result
    ) async throws -> Result {
        guard let resource else { return try await body() }
        return try await usage.holding(resource, for: caller, body)
    }

    /// Measures a call with one request.
    private func measuringCall<Result>(_ method: String, _ body: () async throws -> Result) async throws -> Result {
        guard let metrics else { return try await body() }
        return try await metrics.call(method, body)
    }

    /// Counts a stream.
    private func measuringStream<Result>(_ method: String, _ body: () async throws -> Result) async throws -> Result {
        guard let metrics else { return try await body() }
        return try await metrics.stream(method, body)
    }

    private static func path(_ method: String) -> String { "/google.firestore.v1.Firestore/\(method)" }

    /// The answer of Firestore's standard edition. Clients look for its text and its reason.
    private static let pipelinesRefused: GRPCStatus = {
        let message = "Pipeline queries are only allowed on ENTERPRISE mode; this database is STANDARD."
        let reason = ErrorInfo(reason: "PIPELINE_REQUIRES_ENTERPRISE_EDITION", domain: "firestore.googleapis.com")
        let status = RPCStatus(
            code: DocumentStoreError.Code.failedPrecondition.rawValue, message: message,
            details: [AnyMessage(typeURL: ErrorInfo.typeURL, value: reason.encoded())])
        return GRPCStatus(.failedPrecondition, message, details: status.encoded())
    }()

    /// The status of streams that end because the server stops. Clients then reconnect.
    static let stopping = GRPCStatus(.unavailable, "The server is stopping.")

    /// Runs a handler, and converts its errors to a status.
    private func answering<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch { throw status(of: error) }
    }

    /// Decodes a request. The error for malformed bytes names the type of the message.
    static func decode<Request: ProtobufMessage>(_ bytes: [UInt8]) throws -> Request {
        do { return try Request(decoding: bytes) } catch {
            guard error.code != .invalid else { throw error }
            throw DocumentStoreError(.invalidArgument, "\(Request.self): \(error)")
        }
    }

    func status(of error: any Error) -> GRPCStatus {
        switch error {
        case let error as DocumentStoreError:
            noteCause(of: error)
            return GRPCStatus(error)
        case let error as ProtocolError: return GRPCStatus(.invalidArgument, error.description)
        case let error as NameError: return GRPCStatus(.invalidArgument, error.message)
        case let status as GRPCStatus: return status
        case is CancellationError: return GRPCStatus(.cancelled, "The call was cancelled.")
        default:
            onError(error)
            return GRPCStatus(.internal, "The server failed; its log has the reason.")
        }
    }

    /// Reports the cause of an error, which clients do not see.
    func noteCause(of error: DocumentStoreError) {
        if error.cause != nil { onError(error) }
    }

    /// Runs a commit if the caller may request it.
    ///
    /// - Parameter body: Stores the writes. The guard that it receives decides whether they are
    ///   allowed.
    func commit<Result: Sendable>(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller,
        _ body: (CommitGuard?) async throws -> Result
    ) async throws -> Result {
        let review = try await access.review(writes, in: store, by: caller)
        defer { review.end() }
        return try await body(CommitGuard(account: caller.account) { try review.check($0) })
    }

    /// Returns the store of a request's database; throws if the writes name another one.
    func store(_ database: DatabaseName, for writes: [Write]) async throws -> any DocumentStore {
        for write in writes where write.name.database != database {
            throw DocumentStoreError(
                .invalidArgument,
                "The request was for database '\(database)' but was attempting to access database '\(write.name.database)'"
            )
        }
        return try await catalog.store(database)
    }
}

extension GRPCStatus {
    init(_ error: DocumentStoreError) {
        self.init(GRPCStatus.Code(rawValue: Int(error.code.rawValue)) ?? .unknown, error.message)
    }
}

extension RPCStatus {
    init(_ error: DocumentStoreError) { self.init(code: error.code.rawValue, message: error.message) }
}

extension EncodedDocument {
    /// Returns the document with only the masked fields; nil selects all.
    func masked(_ mask: [FieldPath]?) throws -> EncodedDocument {
        guard let mask else { return self }
        var document = self
        document.fields = EncodedFields(try fields.decoded().selecting(mask))
        return document
    }

    package func decoded() throws -> Document {
        Document(name: name, fields: try fields.decoded(), createTime: createTime, updateTime: updateTime)
    }
}
