import CivilTime
import DocumentModel
import SystemIO
import TaskModel
import TaskSync

extension TaskCatalog.Entry {
    private static let zones = TimeZones()

    /// The day on which it is due where this machine is; nil if it has no due date.
    var dueDay: CalendarDay? {
        instant.map { CalendarDay(localAt: $0) } ?? due.map { UTCTime(seconds: $0.timestamp.seconds).day }
    }

    /// The due time on the clocks where this machine is, `2026-11-30T17:00`, if it is one of other
    /// clocks; nil otherwise.
    var localDue: String? {
        guard let local = instant.flatMap({ LocalTime(seconds: $0) }) else { return nil }
        return "\(local.day)T\(local.hour.twoDigits):\(local.minute.twoDigits)"
    }

    /// The point in time at which it is due, in seconds since 1970; nil for days, and for times on the
    /// clocks of every reader.
    private var instant: Int64? {
        guard let due else { return nil }
        switch due.kind {
        case .instant: return due.timestamp.seconds
        case .localTime: return zone.flatMap { Self.zones[$0] }?.instant(ofLocal: due.timestamp.seconds)
        case .date: return nil
        }
    }
}
