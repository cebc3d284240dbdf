package import DocumentModel

/// The time for which the trash keeps what is in it.
///
/// Two clocks measure it, the server's and the machine's, and both must say that the time is over.
/// A clock that is wrong, or jumps, can only keep something for longer.
package struct Retention: Hashable, Sendable {
    /// A moment by both clocks.
    package struct Moment: Hashable, Sendable {
        package var server: Timestamp
        /// Seconds since 1970 by the machine's clock.
        package var machine: Int64

        package init(server: Timestamp, machine: Int64) {
            self.server = server
            self.machine = machine
        }
    }

    /// The number of days; 0 keeps everything for good.
    package var days: Int

    package init(days: Int) { self.days = days }

    /// Whether what was put into the trash at `start` has been there long enough. False for times
    /// that are further apart than can be counted.
    package func isOver(since start: Moment, at now: Moment) -> Bool {
        guard days > 0, case (let needed, false) = Int64(days).multipliedReportingOverflow(by: 86_400),
            case (let byServer, false) =
                now.server.microseconds.subtractingReportingOverflow(start.server.microseconds),
            case (let byMachine, false) = now.machine.subtractingReportingOverflow(start.machine)
        else { return false }
        return min(byServer / 1_000_000, byMachine) >= needed
    }

    /// Returns the server's time at which something that was put into the trash at `start` has been there
    /// long enough; `nil` if that is never.
    package func end(since start: Timestamp) -> Timestamp? {
        guard days > 0, case (let length, false) = Int64(days).multipliedReportingOverflow(by: 86_400_000_000),
            case (let end, false) = start.microseconds.addingReportingOverflow(length)
        else { return nil }
        return Timestamp(microseconds: end)
    }
}
