public import DocumentModel
import FirestoreProtocol
import GRPCClient
import GRPCProtocol
import Synchronization

/// A database that supports `google.firestore.v1.Firestore` over gRPC: `ferry-server`, Cloud
/// Firestore, or an emulator.
public final class FirestoreRemote: Sendable {
    /// The address of a database, and the credentials for it.
    public struct Configuration: Sendable {
        /// The address in the form `host:port`.
        public var endpoint: String
        /// The name of the database.
        public var database: DatabaseName
        /// The security of the connection.
        public var security: Security
        /// Returns the token for a call; nil for no token. Called before each call. The argument
        /// says whether the previous token was refused.
        public var token: @Sendable (_ isRefused: Bool) async throws -> String?

        /// Creates a configuration.
        public init(
            endpoint: String, database: DatabaseName, security: Security = .tls(),
            token: @escaping @Sendable (_ isRefused: Bool) async throws -> String? = { _ in nil }
        ) {
            self.endpoint = endpoint
            self.database = database
            self.security = security
            self.token = token
        }
    }

    /// The security of a connection.
    public enum Security: Sendable {
        /// An unencrypted connection, for loopback and tunnels only: tokens are sent in the clear.
        case plaintext
        /// A TLS connection.
        ///
        /// - Parameter roots: the PEM certificates to trust; nil for the system's.
        case tls(roots: String? = nil)
    }

    private enum Method: String {
        case commit = "Commit"
        case batchGet = "BatchGetDocuments"
        case runQuery = "RunQuery"
        case runAggregationQuery = "RunAggregationQuery"
        case listen = "Listen"

        var path: String { "/google.firestore.v1.Firestore/\(rawValue)" }

        /// The deadline of a call, as in the service's configuration, but shorter for reads, which
        /// are small here.
        var timeout: Duration {
            switch self {
            case .commit, .batchGet: .seconds(60)
            case .runQuery, .runAggregationQuery: .seconds(300)
            case .listen: .seconds(86_400)
            }
        }
    }

    private let configuration: Configuration
    private let channel: GRPCChannel
    /// Whether the token of the last stream was refused, so that the next stream needs a new one.
    private let streamWasRefused = Mutex(false)

    /// Creates a remote, which connects when the first call requires it.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        var settings = GRPCChannelConfiguration()
        if case .tls(let roots) = configuration.security { settings.security = .tls(roots: roots) }
        // The client itself waits between its attempts, and for longer.
        settings.reconnectBackoff = .milliseconds(250) ... .seconds(10)
        channel = GRPCChannel(configuration.endpoint, configuration: settings)
    }

    /// Ends all calls.
    public func close() { channel.close() }

    /// Runs `body` with a token, and again with a new one if the first is refused.
    private func authorized<Result>(
        _ method: Method, parent: String? = nil, _ body: (GRPCCallOptions) async throws -> Result
    ) async throws -> Result {
        do {
            return try await body(options(method, parent, isRefused: false))
        } catch let status as GRPCStatus where status.code == .unauthenticated {
            do {
                return try await body(options(method, parent, isRefused: true))
            } catch let status as GRPCStatus {
                throw RemoteError(status, doing: method.rawValue)
            }
        } catch let status as GRPCStatus {
            try Task.checkCancellation()
            throw RemoteError(status, doing: method.rawValue)
        } catch let error as ProtocolError {
            throw RemoteError(.transient, "\(method.rawValue): the answer cannot be read: \(error)", cause: error)
        }
    }

    private func options(_ method: Method, _ parent: String?, isRefused: Bool) async throws -> GRPCCallOptions {
        let database = configuration.database.description
        let route = parent.map { "parent=\(Self.percentEncoded($0))" } ?? "database=\(Self.percentEncoded(database))"
        var metadata: GRPCMetadata = ["google-cloud-resource-prefix": database, "x-goog-request-params": route]
        do {
            if let token = try await configuration.token(isRefused) {
                metadata.add("Bearer \(token)", for: "authorization")
            }
        } catch let error as RemoteError {
            throw error
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw RemoteError(.transient, "No token could be had for \(configuration.endpoint).", cause: error)
        }
        return GRPCCallOptions(metadata: metadata, timeout: method.timeout)
    }

    private static func percentEncoded(_ text: String) -> String {
        let hex = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                result.append(Character(UnicodeScalar(byte)))
            default: result += "%\(hex[Int(byte >> 4)])\(hex[Int(byte & 15)])"
            }
        }
    }
}

extension FirestoreRemote: RemoteDocuments {
    package func networkChanged() { channel.resetBackoff() }

    package func commit(_ writes: [Write]) async throws -> CommitResult {
        let request = CommitRequest(database: configuration.database, writes: writes).encoded()
        let response = try await authorized(.commit) { options in
            try CommitResponse(decoding: await channel.unary(Method.commit.path, request, options: options))
        }
        guard let time = response.commitTime, response.writeResults.count == writes.count else {
            throw RemoteError(.transient, "Commit: the answer does not fit the \(writes.count) writes.")
        }
        return CommitResult(writeResults: response.writeResults, commitTime: time)
    }

    package func documents(_ names: [DocumentName]) async throws -> RemoteRead {
        let request = BatchGetDocumentsRequest(database: configuration.database, documents: names).encoded()
        let read = try await authorized(.batchGet) { options in
            var read = RemoteRead(found: [], missing: [], readTime: .distantPast)
            let call = try channel.call(Method.batchGet.path, request: request, options: options)
            while let message = try await call.next() {
                let response = try BatchGetDocumentsResponse(decoding: message)
                read.readTime = max(read.readTime, response.readTime ?? .distantPast)
                switch response.result {
                case .found(let document)?: read.found.append(document)
                case .missing(let name)?: read.missing.append(name)
                case nil: break
                }
            }
            return read
        }
        // An incomplete response must never be taken as evidence that documents were deleted.
        guard Set(read.found.map(\.name)).union(read.missing).isSuperset(of: names) else {
            throw RemoteError(.transient, "BatchGetDocuments: the answer lacks some of the \(names.count) documents.")
        }
        return read
    }

    package func results(of query: Query) async throws -> RemoteRead {
        let request = RunQueryRequest(query: query).encoded()
        return try await authorized(.runQuery, parent: query.parent.description) { options in
            var found: [EncodedDocument] = []
            var readTime: Timestamp?
            let call = try channel.call(Method.runQuery.path, request: request, options: options)
            while let message = try await call.next() {
                let response = try RunQueryResponse(decoding: message)
                if let document = response.document { found.append(document) }
                if let time = response.readTime { readTime = min(readTime ?? time, time) }
            }
            guard let readTime else { throw RemoteError(.transient, "RunQuery: the answer has no time.") }
            return RemoteRead(found: found, missing: [], readTime: readTime)
        }
    }

    package func aggregates(
        _ aggregations: [Query.Aggregation], of query: Query
    ) async throws -> [String: Value] {
        let request = RunAggregationQueryRequest(query: query, aggregations: aggregations).encoded()
        return try await authorized(.runAggregationQuery, parent: query.parent.description) { options in
            var values: [String: Value]?
            let call = try channel.call(Method.runAggregationQuery.path, request: request, options: options)
            while let message = try await call.next() {
                values = try RunAggregationQueryResponse(decoding: message).results ?? values
            }
            guard let values else { throw RemoteError(.transient, "RunAggregationQuery: the answer has no result.") }
            return values
        }
    }

    package func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen {
        let isRefused = streamWasRefused.withLock { $0 }
        var options = try await options(.listen, nil, isRefused: isRefused)
        if let seen { options.metadata.add("\(seen.microseconds)", for: ListenMetadata.seen) }
        do {
            let call = try channel.call(Method.listen.path, options: options)
            let stream = FirestoreListen(call: call, database: configuration.database) { [self] status in
                noteStream(status)
            }
            for target in targets { await stream.add(target) }
            return stream
        } catch {
            throw noteStream(error)
        }
    }

    /// Records the outcome of a stream. A token that expires while a stream is open must not cause
    /// a request to sign in, so the first refusal only leads to a new token.
    @discardableResult private func noteStream(_ status: GRPCStatus?) -> RemoteError {
        let wasRefused = streamWasRefused.withLock { flag in
            defer { flag = status?.code == .unauthenticated }
            return flag
        }
        guard let status else { return RemoteError(.transient, "Listen: the stream works.") }
        let error = RemoteError(status, doing: "Listen")
        if error.code == .unauthenticated, !wasRefused { return RemoteError(.transient, error.message, cause: status) }
        return error
    }
}
