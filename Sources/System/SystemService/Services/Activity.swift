import Synchronization

/// What is under way, by name and since when, for whoever asks why something does not end. It answers also while those who do
/// the work are stuck.
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

    /// - Parameter now: on a clock that never goes back.
    package init(now: @escaping @Sendable () -> Duration) { self.now = now }

    /// Answers what `end` is to be told.
    ///
    /// - Parameter isLasting: it goes on until it is asked to stop, so it is no news that it takes long.
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

    /// All of it, the oldest first: `the sync of files (900 s), the disk (31 s)`; nil where nothing is under way.
    package var summary: String? { summary { _, _ in true } }

    /// What has an end and has gone on for so long.
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
