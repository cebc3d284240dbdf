import CivilTime
import DocumentModel
import SystemIO
import TaskModel

extension Due {
    /// The day on which it is due where this machine is.
    var day: CalendarDay {
        switch kind {
        case .date, .localTime: UTCTime(seconds: timestamp.seconds).day
        case .instant: CalendarDay(localAt: timestamp.seconds)
        }
    }
}
