package import CivilTime

/// The times of an account's mails: one at a minute of each day in its time zone. A value.
package struct MorningSchedule: Sendable {
    package var minute: Int
    package var zone: ZoneOffsets

    package init(minute: Int, zone: ZoneOffsets) {
        self.minute = minute
        self.zone = zone
    }

    /// Returns the time of the next mail after `now`, in seconds since 1970.
    package func next(after now: Int64) -> Int64 {
        let today = day(of: now)
        let first = time(on: today)
        return first > now ? first : time(on: today.adding(days: 1))
    }

    /// Returns the day of a time in the time zone.
    package func day(of time: Int64) -> CalendarDay { UTCTime(seconds: zone.local(at: time)).day }

    private func time(on day: CalendarDay) -> Int64 {
        zone.instant(ofLocal: Int64(day.daysSinceEpoch) * 86_400 + Int64(minute) * 60)
    }

    /// The decision about a mail that is due.
    package enum Verdict: Sendable, Hashable {
        case send
        /// The day has a mail already, or has passed while the server was stopped.
        case skip
    }

    /// Decides about a mail.
    ///
    /// - Parameters:
    ///   - time: the time at which the mail became due.
    ///   - sentDay: the last day with a mail, as days since 1970.
    package func verdict(dueAt time: Int64, sentDay: Int64, now: Int64) -> Verdict {
        let today = day(of: now)
        return day(of: time) == today && sentDay < Int64(today.daysSinceEpoch) ? .send : .skip
    }
}
