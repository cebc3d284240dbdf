import Synchronization

/// A request to the current service to end its work in good order.
///
/// It is not a cancellation: calls in progress continue until the service has finished them.
package final class GracefulStop: Sendable {
    private struct State {
        var isRequested = false
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var nextID: UInt64 = 0
    }

    @TaskLocal static var current: GracefulStop?

    private let state = Mutex(State())

    init() {}

    /// Whether the current service has been asked to stop.
    package static var isRequested: Bool {
        current?.wasRequested ?? false
    }

    /// Waits until the current service is asked to stop or its task is cancelled.
    package static func wait() async {
        let (stream, end) = AsyncStream<Never>.makeStream()
        await withHandler {
            for await _ in stream {}
        } onRequest: {
            end.finish()
        }
    }

    /// Runs `operation`, and `onRequest` when the current service is asked to stop.
    ///
    /// `onRequest` runs at most once and on any thread; immediately if the service has already been
    /// asked to stop.
    package static func withHandler<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws -> Result, onRequest: @escaping @Sendable () -> Void
    ) async rethrows -> Result {
        guard let stop = current else { return try await operation() }
        let id = stop.add(onRequest)
        defer { stop.remove(id) }
        return try await operation()
    }

    var wasRequested: Bool { state.withLock { $0.isRequested } }

    func request() {
        let handlers = state.withLock { state in
            state.isRequested = true
            defer { state.handlers = [:] }
            return state.handlers.values
        }
        for handler in handlers { handler() }
    }

    private func add(_ handler: @escaping @Sendable () -> Void) -> UInt64? {
        let id = state.withLock { state -> UInt64? in
            if state.isRequested { return nil }
            state.nextID += 1
            state.handlers[state.nextID] = handler
            return state.nextID
        }
        if id == nil { handler() }
        return id
    }

    private func remove(_ id: UInt64?) {
        guard let id else { return }
        _ = state.withLock { $0.handlers.removeValue(forKey: id) }
    }
}
