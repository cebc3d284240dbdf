import DocumentModel
import Glibc
import Synchronization

/// The one clock of a database: strictly increasing commit times, and read times that no later commit can precede.
///
/// Times follow the system's clock but never go back. A limit up to which times may be handed out is kept on disk (the
/// lease), so that a restart, even with the system's clock set back, continues after every time that anybody saw. The
/// writer renews it; a reader that finds it used up gets an older time, which is as true while nothing is committed.
final class CommitClock: Sendable {
    private struct State {
        var lastIssued: Int64
        var lastAssigned: Int64
        /// The newest commit that is on the disk. Listeners are told of it, or are being told.
        var published: Int64
        /// A time before the first commit of those that have been under way without a pause.
        var beforeUnpublished: Int64
        var lease: Int64
        /// nil where the system's clock is always believed.
        var jumps: ClockGuard?

        var isUnderWay: Bool { lastAssigned > published }
        /// A time before every commit under way.
        var readable: Int64 { max(published, beforeUnpublished) }
    }

    static let leaseLength: Int64 = 1_000_000

    private let state: Mutex<State>
    private let wall: @Sendable () -> Int64
    private let uptime: (@Sendable () -> Int64)?
    private let onNews: @Sendable (ClockNews) -> Void

    /// - Parameters:
    ///   - persisted: the lease as the disk has it.
    ///   - uptime: see `ClockGuard`; nil: `now` is always believed.
    ///   - onNews: called while a lock is held; must be quick, and not use this clock.
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

    /// Counts while the machine is suspended, and never jumps.
    static let systemUptime: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    static let system: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The time of the next commit. Only the writer calls it, and publishes in the same order.
    func assign() -> Int64 {
        state.withLock { state in
            if !state.isUnderWay { state.beforeUnpublished = state.lastIssued }
            state.lastIssued = max(now(&state), state.lastIssued + 1)
            state.lastAssigned = state.lastIssued
            return state.lastIssued
        }
    }

    /// The lease that the writer must store, because the present one is nearly used up or does not reach `time`.
    func leaseToStore(through time: Int64 = 0) -> Int64? {
        state.withLock { state in
            let wanted = max(now(&state), state.lastIssued, time)
            return state.lease - wanted < Self.leaseLength / 2 ? wanted + Self.leaseLength : nil
        }
    }

    /// The least lease that covers every time handed out, for an orderly end.
    var lastIssued: Int64 { state.withLock { $0.lastIssued } }

    /// Ends the application of a group: `newest` is the last commit of all that succeeded.
    ///
    /// Times that were assigned to commits which then failed are never used again.
    func settle(newest: Int64) { state.withLock { $0.lastAssigned = newest } }

    /// Commits up to `newest`, and the lease, are on the disk. Only the listen hub calls it, in order.
    func publish(newest: Int64?, lease: Int64?) {
        state.withLock { state in
            if let newest { state.published = max(state.published, newest) }
            if let lease { state.lease = max(state.lease, lease) }
        }
    }

    /// The newest commit that is on the disk. Listeners are told of it, or are being told.
    var published: Int64 { state.withLock { $0.published } }

    /// The newest time that was given to a commit, which may still be under way.
    var lastAssigned: Int64 { state.withLock { $0.lastAssigned } }

    /// A read time for a snapshot that has all commits up to `visible`; those of them that are not on the disk yet come
    /// after it.
    func readTime(visible: Int64) -> (time: Int64, wantsLease: Bool) {
        state.withLock { state in
            // What was published since the snapshot was taken it may lack.
            guard state.published <= visible else { return (visible, false) }
            guard !state.isUnderWay else { return (state.readable, false) }
            let current = now(&state)
            state.lastIssued = max(state.lastIssued, state.published, min(current, state.lease))
            return (state.lastIssued, state.lease - current < Self.leaseLength / 4)
        }
    }

    enum Reservation {
        case reserved
        /// The time lies beyond the lease on disk.
        case needsLease
        /// Commits up to the time are under way.
        case needsBarrier
    }

    /// Makes every later commit later than `time`, which must not be in the future.
    func reserve(_ time: Int64) -> Reservation {
        state.withLock { state in
            guard time <= max(state.lease, state.lastIssued) else { return .needsLease }
            state.lastIssued = max(state.lastIssued, time)
            return state.isUnderWay && state.readable < time ? .needsBarrier : .reserved
        }
    }

    /// A time for something that happens now, without promise about commits.
    var wallTime: Int64 { state.withLock { now(&$0) } }
}
