import GRPCProtocol
import SystemIO

/// Decides when a channel connects, and what calls do meanwhile. A pure state machine; randomness
/// is passed in.
///
/// A channel connects when a call needs a connection. After a failed attempt there is a pause that
/// grows with each consecutive failure. During the pause calls fail, unless their options ask them
/// to wait.
struct Reconnection {
    enum Answer: Equatable {
        /// The channel is connected; send the call.
        case send
        /// Keep the call until the attempt in progress or the pause has ended.
        case wait
        /// Start an attempt, and keep the call.
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

    /// The time at which waiting calls should ask again, or nil if they only wait for the end of an
    /// attempt.
    var resumes: ContinuousClock.Instant? {
        if case .pausing(let time, _) = state { time } else { nil }
    }

    /// Returns what a call should do.
    ///
    /// - Parameter isPatient: Whether the call waits for a connection for an unlimited time.
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

    /// Starts the pause after a failed attempt.
    ///
    /// - Parameter random: A number evenly distributed in 0 ..< 1.
    mutating func failed(_ status: GRPCStatus, at now: ContinuousClock.Instant, random: Double) {
        state = .pausing(until: now + max(backoff.next(random: random), .milliseconds(1)), because: status)
    }

    /// Records that the connection is lost or takes no more calls. The next one may be established
    /// at once.
    mutating func lost() { state = .idle }

    /// Ends a pause.
    mutating func reset() {
        backoff.reset()
        if case .pausing = state { state = .idle }
    }
}
