import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPCProtocol
import Synchronization
package import SystemIO

/// The measures of a server's calls: how many, with which result, how long, and the open streams.
package final class CallMetrics: Sendable {
    private let metrics: Metrics
    private let now: @Sendable () -> Duration
    private let streams = Mutex<[String: Int]>([:])

    private static let calls = Metrics.Metric("ferry_calls_total", "Calls of google.firestore.v1 that have ended.")
    private static let times = Metrics.Metric("ferry_call_seconds", "Durations of calls, without streams.")
    private static let open = Metrics.Metric("ferry_open_streams", "Open streams of Listen and Write.")

    /// Creates measures and registers them.
    package init(_ metrics: Metrics, environment: Environment = .system) {
        self.metrics = metrics
        now = environment.now
        for method in ["Listen", "Write"] {
            metrics.gauge(Self.open, ["method": method]) { [weak self] in
                Double(self?.streams.withLock { $0[method] ?? 0 } ?? 0)
            }
        }
    }

    /// Measures a call with one request.
    func call<Result>(_ method: String, _ body: () async throws -> Result) async throws -> Result {
        let start = now()
        do {
            let result = try await body()
            end(method, start, .ok)
            return result
        } catch {
            end(method, start, Self.code(of: error))
            throw error
        }
    }

    /// Counts a stream while it is open.
    func stream<Result>(_ method: String, _ body: () async throws -> Result) async throws -> Result {
        streams.withLock { $0[method, default: 0] += 1 }
        defer { streams.withLock { $0[method, default: 0] -= 1 } }
        do {
            let result = try await body()
            count(method, .ok)
            return result
        } catch {
            count(method, Self.code(of: error))
            throw error
        }
    }

    private static func code(of error: any Error) -> GRPCStatus.Code {
        switch error {
        case let error as DocumentStoreError: GRPCStatus(error).code
        case is ProtocolError, is NameError: .invalidArgument
        case let status as GRPCStatus: status.code
        case is CancellationError: .cancelled
        default: .internal
        }
    }

    private func end(_ method: String, _ start: Duration, _ code: GRPCStatus.Code) {
        count(method, code)
        metrics.observe(Self.times, ["method": method], now() - start)
    }

    private func count(_ method: String, _ code: GRPCStatus.Code) {
        metrics.count(Self.calls, ["method": method, "code": "\(code)"])
    }
}
