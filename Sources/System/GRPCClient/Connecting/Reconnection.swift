import GRPCProtocol
import SystemIO

/// When a channel connects, and what calls do meanwhile. A pure machine; randomness comes in as a value.
///
/// A channel connects when a call needs it. After an attempt that failed, the next one is not made
/// before a pause that grows with each failure in a row; calls fail meanwhile, unless they are made
/// to wait.
struct Reconnection {
    enum Answer: Equatable {
        /// There is a connection.
        case send
        /// The call waits for the attempt that is in progress, or for the end of the pause.
        case wait
        /// As `wait`, after an attempt was begun.
        case connect
        case fail(GRPCStatus)
    }

    private enum State {
        case idle
        case connecting
        case connected
        case pausing(until: ContinuousClock.Instant, because: GRPCStatus)
    }

    private var backoff: Backoff
    private var state = State.idle

    init(pauses: ClosedRange<Duration>) {
        backoff = Backoff(pauses, growth: 1.6, spread: 0.8...1.2)
    }

    /// When calls that wait are to be asked about again; nil if there is nothing to wait for but the attempt's end.
    var resumes: ContinuousClock.Instant? {
        if case .pausing(let time, _) = state { time } else { nil }
    }

    /// What a call is to do.
    /// - Parameter isPatient: whether the call waits for a connection for as long as it takes.
    mutating func answer(isPatient: Bool, at now: ContinuousClock.Instant) -> Answer {
        switch state {
        case .connected: return .send
        case .connecting: return .wait
        case .pausing(let time, let status) where now < time: return isPatient ? .wait : .fail(status)
        case .idle, .pausing:
            state = .connecting
            return .connect
        }
    }

    mutating func connected() {
        state = .connected
        backoff.reset()
    }

    /// - Parameter random: evenly spread over 0 ..< 1.
    mutating func failed(_ status: GRPCStatus, at now: ContinuousClock.Instant, random: Double) {
        state = .pausing(until: now + max(backoff.next(random: random), .milliseconds(1)), because: status)
    }

    /// The connection is lost, or takes no more calls; the next one may be made at once.
    mutating func lost() { state = .idle }

    /// Ends a pause.
    mutating func reset() {
        backoff.reset()
        if case .pausing = state { state = .idle }
    }
}
