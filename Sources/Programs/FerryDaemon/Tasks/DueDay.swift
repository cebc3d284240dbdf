import DocumentModel
import Glibc
import TaskModel

extension Due {
    /// The day on which it is due where this machine is; nil outside the years 1 … 9999.
    var day: CivilDate? {
        switch kind {
        case .date, .localTime: CivilDate(daysSinceEpoch: Self.days(timestamp.seconds))
        case .instant: Self.localDay(timestamp.seconds)
        }
    }

    private static func days(_ seconds: Int64) -> Int {
        Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
    }

    private static func localDay(_ seconds: Int64) -> CivilDate? {
        var time = time_t(seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return nil }
        return CivilDate(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday))
    }
}

extension CivilDate {
    /// From `2026-11-30`.
    init?(_ text: String) {
        guard let due = Due(parsing: text), due.kind == .date, let day = due.day else { return nil }
        self = day
    }

    /// The day that this machine's clock and time zone show.
    static func today() -> CivilDate? {
        var now = time(nil)
        var parts = tm()
        guard localtime_r(&now, &parts) != nil else { return nil }
        return CivilDate(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday))
    }
}
