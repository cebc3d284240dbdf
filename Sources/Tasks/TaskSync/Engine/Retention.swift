import DocumentModel

/// How long the trash keeps what is in it.
///
/// Two clocks measure it, the remote's and the machine's own, and both must say that the time is
/// over: one that is wrong, or jumps, can only keep something for longer.
struct Retention {
    /// A moment by both clocks.
    struct Moment: Equatable {
        var remote: Timestamp
        /// Seconds since 1970 by the machine's clock.
        var local: Int64
    }

    let days: Int

    /// Whether what was thrown away then has been in the trash for long enough.
    func isOver(since start: Moment, at now: Moment) -> Bool {
        // Times that somebody made up may lie further apart than can be counted.
        guard days > 0, case (let seconds, false) = Int64(days).multipliedReportingOverflow(by: 86_400),
            case (let remoteAge, false) =
                now.remote.microseconds.subtractingReportingOverflow(start.remote.microseconds),
            case (let localAge, false) = now.local.subtractingReportingOverflow(start.local)
        else { return false }
        return min(remoteAge / 1_000_000, localAge) >= seconds
    }

    /// When what was thrown away then will have been in the trash for long enough; nil where that is never.
    func end(since start: Timestamp) -> Timestamp? {
        guard days > 0, case (let length, false) = Int64(days).multipliedReportingOverflow(by: 86_400_000_000),
            case (let end, false) = start.microseconds.addingReportingOverflow(length)
        else { return nil }
        return Timestamp(microseconds: end)
    }
}
