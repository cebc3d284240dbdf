import Synchronization
import SystemIO

/// The measures of a pool of connections: how many there are, how many are busy, and how long work
/// waits for one.
final class PoolMetrics: Sendable {
    private let metrics: Metrics?
    private let name: String
    private let now: @Sendable () -> Duration
    private let busy = Atomic(0)

    private static let total = Metrics.Metric("ferry_pool_connections", "Connections to PostgreSQL for reads.")
    private static let used = Metrics.Metric("ferry_pool_busy", "Connections that are reading.")
    private static let waits = Metrics.Metric("ferry_pool_wait_seconds", "How long reads waited for a connection.")
    private static let reads = Metrics.Metric("ferry_pool_read_seconds", "How long reads had their connection.")

    /// Creates measures and registers them.
    ///
    /// - Parameter name: The value of the label `pool`.
    init(_ name: String, connections: Int, _ metrics: Metrics?, environment: Environment) {
        self.name = name
        self.metrics = metrics
        now = environment.now
        metrics?.gauge(Self.total, ["pool": name]) { Double(connections) }
        metrics?.gauge(Self.used, ["pool": name]) { [weak self] in
            Double(self?.busy.load(ordering: .relaxed) ?? 0)
        }
    }

    /// The beginning of a wait.
    func begin() -> Duration { now() }

    /// Measures what runs on a connection.
    ///
    /// - Parameter begin: When the wait for the connection began.
    func read<Result>(since begin: Duration, _ body: () async throws -> Result) async rethrows -> Result {
        guard let metrics else { return try await body() }
        let start = now()
        metrics.observe(Self.waits, ["pool": name], start - begin)
        busy.wrappingAdd(1, ordering: .relaxed)
        defer {
            busy.wrappingSubtract(1, ordering: .relaxed)
            metrics.observe(Self.reads, ["pool": name], now() - start)
        }
        return try await body()
    }
}
