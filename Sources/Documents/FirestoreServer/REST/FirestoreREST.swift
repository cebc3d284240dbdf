import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPCProtocol
package import HTTPMessages
package import HTTPServer
import JSON

/// The REST interface of the service: the same methods, with messages in proto3 JSON, at the paths
/// that the published service maps to them. Answers with many messages are one array.
package struct FirestoreREST: Sendable {
    private let service: FirestoreService
    private let methods: [String: FirestoreService.Method]
    private let isEmulator: Bool

    /// Creates the interface.
    ///
    /// - Parameter isEmulator: Whether to offer the operations of Google's emulator.
    package init(_ service: FirestoreService, isEmulator: Bool) {
        self.service = service
        methods = service.methods
        self.isEmulator = isEmulator
    }

    /// Handles a request; returns nil for a path of another interface, of which nothing has been
    /// read.
    package func handle(_ request: HTTPServerRequest) async -> HTTPResponse? {
        do {
            if let database = try clearedDatabase(request) { return try await clear(database) }
            guard let route = try RESTRoute.find(request.method, request.target) else { return nil }
            // Conversions of large messages would hold up the other connections of the thread.
            return await withTaskExecutorPreference(globalConcurrentExecutor) { await answer(route, request) }
        } catch {
            return Self.answer(to: service.status(of: error), inArray: false)
        }
    }

    private func answer(_ route: RESTRoute, _ request: HTTPServerRequest) async -> HTTPResponse {
        guard let method = methods[route.operation.name] else {
            return Self.answer(to: GRPCStatus(.unimplemented), inArray: false)
        }
        var isStreaming = false
        do {
            let caller = try service.authenticator.identify(authorization: request.headers["Authorization"])
            try service.authenticator.admit(caller)
            switch method.handle {
            case .unary(let handle):
                let bytes = try await service.holding(method.resource, for: caller) {
                    let message = try await Self.message(route, request)
                    return try MessageJSON.decode(try await handle(message, caller), as: route.operation.response)
                }
                return Self.json(.ok, .bytes(bytes))
            case .streaming(let handle):
                isStreaming = true
                let chunks = AnswerChunks(endingWith: { Self.envelope(service.status(of: $0)).bytes }) { send in
                    try await service.holding(method.resource, for: caller) {
                        let message = try await Self.message(route, request)
                        try await handle(message, caller) {
                            try await send(try MessageJSON.decode($0, as: route.operation.response))
                        }
                    }
                }
                // Until the first message is there, an error can be the answer's status.
                var iterator = chunks.makeAsyncIterator()
                let first = try await iterator.next()
                return Self.json(.ok, .stream(ChunksAhead(first: first, rest: chunks)))
            }
        } catch {
            return Self.answer(to: status(of: error), inArray: isStreaming)
        }
    }

    private static func message(_ route: RESTRoute, _ request: HTTPServerRequest) async throws -> [UInt8] {
        let body = route.hasBody ? try await request.body.collect(limit: FirestoreService.requestLimit) : []
        return try route.request(request.target.query, body: body)
    }

    // MARK: Errors

    private func status(of error: any Error) -> GRPCStatus {
        switch error {
        case let error as JSONError:
            GRPCStatus(.invalidArgument, "Invalid JSON payload received. \(error)")
        case let error as HTTPError where error.code == .bodyTooLarge:
            GRPCStatus(
                .invalidArgument, "Request payload size exceeds the limit: \(FirestoreService.requestLimit) bytes.")
        case is HTTPError: GRPCStatus(.cancelled, "The body of the request broke off.")
        default: service.status(of: error)
        }
    }

    /// The error as clients of Google's REST interfaces expect it. Errors of streams are in an array.
    private static func answer(to status: GRPCStatus, inArray: Bool) -> HTTPResponse {
        let envelope = envelope(status)
        var response = json(
            HTTPStatus(rawValue: code(of: status.code)), .bytes((inArray ? .array([envelope]) : envelope).bytes))
        if status.code == .unauthenticated { response.headers["WWW-Authenticate"] = "Bearer" }
        return response
    }

    private static func envelope(_ status: GRPCStatus) -> JSON {
        [
            "error": [
                "code": .integer(Int64(code(of: status.code))), "message": .string(status.message),
                "status": .string(status.code.description),
            ]
        ]
    }

    /// Returns the HTTP status of a status, by the table of `google.rpc.Code`.
    private static func code(of code: GRPCStatus.Code) -> Int {
        switch code {
        case .ok: 200
        case .invalidArgument, .failedPrecondition, .outOfRange: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .aborted, .alreadyExists: 409
        case .resourceExhausted: 429
        case .cancelled: 499
        case .unimplemented: 501
        case .unavailable: 503
        case .deadlineExceeded: 504
        case .unknown, .internal, .dataLoss: 500
        }
    }

    private static func json(_ status: HTTPStatus, _ body: HTTPBody) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"],
            body: body)
    }

    // MARK: The emulator

    /// Returns the database that a request to the emulator clears; nil for any other request.
    private func clearedDatabase(_ request: HTTPServerRequest) throws -> DatabaseName? {
        let path = request.target.segments
        guard isEmulator, request.method == .delete, path.count == 7, path[0] == "emulator", path[1] == "v1",
            path[6] == "documents"
        else { return nil }
        return try DatabaseName(parsing: path[2...5].joined(separator: "/"))
    }

    /// Deletes all documents. Not atomic, as in the emulator.
    private func clear(_ database: DatabaseName) async throws -> HTTPResponse {
        let store = try await service.catalog.store(database)
        let everything = Query(
            parent: ParentName(database), collectionID: nil, allDescendants: true, projection: [.documentName])
        var writes: [Write] = []
        for try await document in try await store.query(everything).documents {
            writes.append(Write(.delete(document.name)))
            guard writes.count == 400 else { continue }
            _ = try await store.commit(writes)
            writes = []
        }
        if !writes.isEmpty { _ = try await store.commit(writes) }
        return Self.json(.ok, .text("{}"))
    }
}
