import DocumentModel
import Synchronization

/// The clock of a database: strictly increasing commit times, and read times that no later commit
/// can precede.
///
/// Times follow the system's clock but never go back. A limit up to which times may be assigned
/// (the lease) is stored on disk, so that after a restart, even with the system's clock set back,
/// times continue after every time that a client may have seen. The writer renews the lease. A
/// reader that finds it used up gets an older time, which is equally correct while nothing is
/// committed.
final class CommitClock: ListenClock {
    private struct State {
        var lastIssued: Int64
        var lastAssigned: Int64
        /// The newest commit that is on disk. Listeners have been notified of it, or are being
        /// notified.
        var published: Int64
        /// A time before the first of the unpublished commits.
        var beforeUnpublished: Int64
        var lease: Int64
        /// The guard against jumps of the system's clock; nil if that clock is always believed.
        var jumps: ClockGuard?

        var hasUnpublished: Bool { lastAssigned > published }
        /// A time before every unpublished commit.
        var readable: Int64 { max(published, beforeUnpublished) }
    }

    static let leaseLength: Int64 = 1_000_000

    private let state: Mutex<State>
    private let wall: @Sendable () -> Int64
    private let uptime: (@Sendable () -> Int64)?
    private let onNews: @Sendable (ClockNews) -> Void

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - persisted: the lease stored on disk.
    ///   - uptime: see `ClockGuard`; nil if `now` is always believed.
    ///   - onNews: called while a lock is held. Must be fast, and must not use this clock.
    init(
        persisted: Int64, lastCommit: Int64, uptime: (@Sendable () -> Int64)? = nil,
        onNews: @escaping @Sendable (ClockNews) -> Void = { _ in }, now: @escaping @Sendable () -> Int64
    ) {
        let start = max(persisted, lastCommit)
        wall = now
        self.uptime = uptime
        self.onNews = onNews
        state = Mutex(
            State(
                lastIssued: start, lastAssigned: lastCommit, published: lastCommit, beforeUnpublished: start,
                lease: start, jumps: uptime.map { ClockGuard(wall: now(), uptime: $0()) }))
    }

    private func now(_ state: inout State) -> Int64 {
        let wall = wall()
        guard let uptime, state.jumps != nil else { return wall }
        guard let (time, news) = state.jumps?.time(wall: wall, uptime: uptime(), newest: state.lastIssued) else {
            return wall
        }
        if let news { onNews(news) }
        return time
    }

    /// Returns the time of the next commit. Only the writer calls it, and publishes commits in the
    /// same order.
    func assign() -> Int64 {
        state.withLock { state in
            if !state.hasUnpublished { state.beforeUnpublished = state.lastIssued }
            state.lastIssued = max(now(&state), state.lastIssued + 1)
            state.lastAssigned = state.lastIssued
            return state.lastIssued
        }
    }

    /// Returns the lease that the writer must store; nil if the present one is not nearly used up
    /// and reaches `time`.
    func leaseToStore(through time: Int64 = 0) -> Int64? {
        state.withLock { state in
            let wanted = max(now(&state), state.lastIssued, time)
            return state.lease - wanted < Self.leaseLength / 2 ? wanted + Self.leaseLength : nil
        }
    }

    /// The smallest lease that covers every assigned time, stored on an orderly shutdown.
    var lastIssued: Int64 { state.withLock { $0.lastIssued } }

    /// Ends the application of a group, in which `newest` is the last commit that succeeded.
    ///
    /// Times that were assigned to failed commits are never used again.
    func settle(newest: Int64) { state.withLock { $0.lastAssigned = newest } }

    package func separatingTime() -> Int64 { readTime(visible: .max).time }

    /// Reports that commits up to `newest`, and the lease, are on disk. Only the listen hub calls
    /// it, in order.
    package func publish(newest: Int64?, lease: Int64?) {
        state.withLock { state in
            if let newest { state.published = max(state.published, newest) }
            if let lease { state.lease = max(state.lease, lease) }
        }
    }

    /// The newest commit that is on disk. Listeners have been notified of it, or are being
    /// notified.
    var published: Int64 { state.withLock { $0.published } }

    /// The newest time that was assigned to a commit, which may not be on disk yet.
    var lastAssigned: Int64 { state.withLock { $0.lastAssigned } }

    /// Returns a read time for a snapshot that contains all commits up to `visible`. Commits of the
    /// snapshot that are not on disk yet are later than it.
    func readTime(visible: Int64) -> (time: Int64, wantsLease: Bool) {
        state.withLock { state in
            // The snapshot may lack commits that were published after it was taken.
            guard state.published <= visible else { return (visible, false) }
            guard !state.hasUnpublished else { return (state.readable, false) }
            let current = now(&state)
            state.lastIssued = max(state.lastIssued, state.published, min(current, state.lease))
            return (state.lastIssued, state.lease - current < Self.leaseLength / 4)
        }
    }

    enum Reservation {
        case reserved
        /// The time is after the lease on disk.
        case needsLease
        /// Commits up to the time are not on disk yet.
        case needsBarrier
    }

    /// Makes every later commit later than `time`, which must not be in the future.
    func reserve(_ time: Int64) -> Reservation {
        state.withLock { state in
            guard time <= max(state.lease, state.lastIssued) else { return .needsLease }
            state.lastIssued = max(state.lastIssued, time)
            return state.hasUnpublished && state.readable < time ? .needsBarrier : .reserved
        }
    }

    /// A time for an event that happens now, without a guarantee relative to commits.
    var wallTime: Int64 { state.withLock { now(&$0) } }
}
