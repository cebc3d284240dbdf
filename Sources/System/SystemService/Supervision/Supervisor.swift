import CSystemd
import Glibc
import Synchronization

/// What this process tells systemd about itself, sd_notify(3). Outside systemd every call does nothing.
package final class Supervisor: Sendable {
    private struct Told {
        var status: String?
        var alive: ContinuousClock.Instant?
    }

    /// How long the supervisor waits for `alive` before it ends the process; nil where it does not watch. The main loop
    /// must come by at least twice in this time, also when there is nothing to do.
    package let watchdogInterval: Duration?

    private let told = Mutex(Told())
    private let send: @Sendable (String) -> Void

    /// The supervisor that started this process, if any.
    package convenience init() {
        var microseconds: UInt64 = 0
        // WATCHDOG_USEC counts only where WATCHDOG_PID is absent or names us, which this checks.
        let isWatched = sd_watchdog_enabled(0, &microseconds) > 0
        self.init(watchdogInterval: isWatched ? .microseconds(Int64(clamping: microseconds)) : nil) {
            _ = sd_notify(0, $0)
        }
    }

    init(watchdogInterval: Duration?, send: @escaping @Sendable (String) -> Void) {
        self.watchdogInterval = watchdogInterval
        self.send = send
    }

    /// The start is done: clients may come. Also ends a reload.
    package func ready(status: String? = nil) {
        send(["READY=1"], status: status)
    }

    /// One line for `systemctl status`. Telling it again costs nothing.
    package func status(_ text: String) {
        let isNews = told.withLock { told in
            defer { told.status = text }
            return told.status != text
        }
        if isNews { send([], status: text) }
    }

    /// The stop has begun; final.
    package func stopping(status: String? = nil) {
        send(["STOPPING=1"], status: status)
    }

    /// A reload has begun; `ready` ends it.
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000
        // In one datagram, as Type=notify-reload demands.
        send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"], status: nil)
    }

    /// A start or stop that takes longer than the unit allows: asks for `time` from now. Repeat before it is over.
    package func extendTimeout(by time: Duration) {
        let (seconds, attoseconds) = time.components
        let microseconds = max(0, seconds).multipliedReportingOverflow(by: 1_000_000)
        guard !microseconds.overflow else { return }
        send(
            ["EXTEND_TIMEOUT_USEC=\(microseconds.partialValue + max(0, attoseconds / 1_000_000_000_000))"], status: nil)
    }

    /// Proof that the main loop turns: call it in each turn, never from a timer of its own. It tells the supervisor at
    /// most four times per `watchdogInterval`.
    package func alive(now: ContinuousClock.Instant = .now) {
        guard let watchdogInterval else { return }
        let isDue = told.withLock { told in
            if let last = told.alive, now - last < watchdogInterval / 4 { return false }
            told.alive = now
            return true
        }
        if isDue { send("WATCHDOG=1") }
    }

    private func send(_ fields: [String], status: String?) {
        var fields = fields
        if let status {
            // A line break would let the text pose as further fields.
            let line = status.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }
            fields.append("STATUS=" + line.joined())
        }
        send(fields.joined(separator: "\n"))
    }
}
