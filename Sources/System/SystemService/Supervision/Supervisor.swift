import CSystemd
import Glibc
import Synchronization

/// Reports this process's state to systemd: sd_notify(3). Without systemd every call does nothing.
package final class Supervisor: Sendable {
    private struct Reported {
        var status: String?
        var alive: ContinuousClock.Instant?
    }

    /// The time that systemd waits for `alive` before it ends the process; nil if it does not watch
    /// the process.
    ///
    /// The main loop must call `alive` at least twice in this time, even when it is idle.
    package let watchdogInterval: Duration?

    private let reported = Mutex(Reported())
    private let send: @Sendable (String) -> Void

    /// Creates the connection to the service manager that started this process, if any.
    package convenience init() {
        var microseconds: UInt64 = 0
        // This call checks that WATCHDOG_PID is absent or names this process; otherwise
        // WATCHDOG_USEC does not count.
        let isWatched = sd_watchdog_enabled(0, &microseconds) > 0
        self.init(watchdogInterval: isWatched ? .microseconds(Int64(clamping: microseconds)) : nil) {
            _ = sd_notify(0, $0)
        }
    }

    init(watchdogInterval: Duration?, send: @escaping @Sendable (String) -> Void) {
        self.watchdogInterval = watchdogInterval
        self.send = send
    }

    /// Reports that the start, or a reload, is complete.
    package func ready(status: String? = nil) {
        send(["READY=1"], status: status)
    }

    /// Sets the line that `systemctl status` shows. Setting the same text again sends nothing.
    package func status(_ text: String) {
        let isNews = reported.withLock { reported in
            defer { reported.status = text }
            return reported.status != text
        }
        if isNews { send([], status: text) }
    }

    /// Reports that the process has begun to stop. This is final.
    package func stopping(status: String? = nil) {
        send(["STOPPING=1"], status: status)
    }

    /// Reports that a reload has begun; `ready` ends it.
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000
        // Both fields in one datagram, as Type=notify-reload requires.
        send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"], status: nil)
    }

    /// Asks for `time` from now for a start or stop that takes longer than the unit allows. Repeat
    /// before that time is over.
    package func extendTimeout(by time: Duration) {
        let (seconds, attoseconds) = time.components
        let microseconds = max(0, seconds).multipliedReportingOverflow(by: 1_000_000)
        guard !microseconds.overflow else { return }
        send(
            ["EXTEND_TIMEOUT_USEC=\(microseconds.partialValue + max(0, attoseconds / 1_000_000_000_000))"], status: nil)
    }

    /// Reports that the main loop is running. Call it in each iteration, never from a separate
    /// timer. The message is sent at most four times per `watchdogInterval`.
    package func alive(now: ContinuousClock.Instant = .now) {
        guard let watchdogInterval else { return }
        let isDue = reported.withLock { reported in
            if let last = reported.alive, now - last < watchdogInterval / 4 { return false }
            reported.alive = now
            return true
        }
        if isDue { send("WATCHDOG=1") }
    }

    private func send(_ fields: [String], status: String?) {
        var fields = fields
        if let status {
            // Without this a line break would start a further field.
            let line = status.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }
            fields.append("STATUS=" + line.joined())
        }
        send(fields.joined(separator: "\n"))
    }
}
