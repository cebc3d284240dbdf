import DocumentModel
import FirestoreProtocol
import GRPCClient
import GRPCProtocol

/// A connection to a server, as its administrator.
struct LoadClient: Sendable {
    private let channel: GRPCChannel
    private let options = GRPCCallOptions(metadata: ["authorization": "Bearer owner"], waitForReady: true)

    init(_ address: String) {
        var configuration = GRPCChannelConfiguration()
        configuration.maximumReceiveSize = nil
        channel = GRPCChannel(address, configuration: configuration)
    }

    private func path(_ method: String) -> String { "/google.firestore.v1.Firestore/\(method)" }

    func commit(_ writes: [Write]) async throws {
        let request = CommitRequest(database: Bench.database, writes: writes)
        _ = try await channel.unary(path("Commit"), request.encoded(), options: options)
    }

    func get(_ name: DocumentName) async throws {
        _ = try await channel.unary(path("GetDocument"), GetDocumentRequest(name: name).encoded(), options: options)
    }

    /// Runs a query, and returns the number of results.
    func query(_ query: Query) async throws -> Int {
        let call = try channel.call(
            path("RunQuery"), request: RunQueryRequest(query: query).encoded(), options: options)
        var count = 0
        while let bytes = try await call.next() {
            if try RunQueryResponse(decoding: bytes).document != nil { count += 1 }
        }
        return count
    }

    /// Opens a stream with one target.
    ///
    /// - Parameter token: The resume token of an earlier stream with the same target.
    func listen(_ query: Query, from token: [UInt8]? = nil) async throws -> Listener {
        let call = try channel.call(path("Listen"), options: options)
        var target = FirestoreProtocol.ListenTarget(.query(query), id: 2)
        target.resume = token.map { .token($0) }
        try await call.send(ListenRequest(database: Bench.database, change: .add(target)).encoded())
        return Listener(call: call)
    }
}

/// A listen stream with one target.
struct Listener: Sendable {
    let call: GRPCClientCall

    /// Reads up to the boundary after the target is current, and returns the number of documents and the token of
    /// the boundary.
    @discardableResult
    func becomeCurrent() async throws -> (count: Int, token: [UInt8]) {
        var count = 0
        var isCurrent = false
        while let bytes = try await call.next() {
            switch try ListenResponse(decoding: bytes) {
            case .documentChange: count += 1
            case .targetChange(let change) where change.kind == .current: isCurrent = true
            case .targetChange(let change) where change.kind == .noChange && isCurrent:
                return (count, change.resumeToken)
            default: break
            }
        }
        throw Bench.Failure(description: "A listen stream ended.")
    }

    /// Waits for a change of a document.
    func change() async throws {
        while let bytes = try await call.next() {
            if case .documentChange = try ListenResponse(decoding: bytes) { return }
        }
        throw Bench.Failure(description: "A listen stream ended.")
    }
}
