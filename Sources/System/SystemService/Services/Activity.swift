import Synchronization

/// The operations in progress, each with a name and start time, which explain why a shutdown takes
/// long.
///
/// It can be read even while the code that performs the operations is blocked.
package final class Activity: Sendable {
    private struct Part: Sendable {
        let name: String
        let began: Duration
        let isLasting: Bool
    }

    private struct State {
        var last: UInt64 = 0
        var parts: [UInt64: Part] = [:]
    }

    private let now: @Sendable () -> Duration
    private let state = Mutex(State())

    /// Creates an empty set of operations.
    ///
    /// - Parameter now: returns the time of a monotonic clock.
    package init(now: @escaping @Sendable () -> Duration) { self.now = now }

    /// Records the start of an operation. Returns the token to pass to `end`.
    ///
    /// - Parameter isLasting: whether the operation runs until it is asked to stop, so that its
    ///   long duration is normal.
    package func begin(_ name: String, isLasting: Bool = false) -> UInt64 {
        let part = Part(name: name, began: now(), isLasting: isLasting)
        return state.withLock { state in
            state.last += 1
            state.parts[state.last] = part
            return state.last
        }
    }

    package func end(_ part: UInt64) { state.withLock { $0.parts[part] = nil } }

    package func during<Result>(
        _ name: String, isLasting: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let part = begin(name, isLasting: isLasting)
        defer { end(part) }
        return try await body()
    }

    /// All operations in progress, oldest first: `the sync of files (900 s), the disk (31 s)`; nil
    /// if there are none.
    package var summary: String? { summary { _, _ in true } }

    /// Returns the operations that should have ended and have lasted at least `time`; nil if there
    /// are none.
    package func summary(longerThan time: Duration) -> String? { summary { !$0.isLasting && $1 >= time } }

    private static let shown = 8

    private func summary(_ isWanted: (Part, Duration) -> Bool) -> String? {
        let time = now()
        let parts = state.withLock { Array($0.parts.values) }.filter { isWanted($0, time - $0.began) }
            .sorted { $0.began < $1.began }
        guard !parts.isEmpty else { return nil }
        let words = parts.prefix(Self.shown).map { "\($0.name) (\((time - $0.began).components.seconds) s)" }
        let rest = parts.count > Self.shown ? " and \(parts.count - Self.shown) more" : ""
        return words.joined(separator: ", ") + rest
    }
}
