import CivilTime
import DocumentClient
import DocumentModel
import SystemIO
import TaskModel

/// Settles the dates of recurring tasks.
extension TaskSync {
    /// The day on this machine.
    var today: CivilDate { Self.day(at: configuration.wallClock()) }

    /// The day on this machine at a time in milliseconds since 1970.
    static func day(at time: Int64) -> CivilDate { CivilDate(CalendarDay(localAt: time / 1000)) }

    /// Brings the dates of recurring tasks into agreement with their occurrences, which merges and
    /// other apps may have changed.
    ///
    /// - Returns: The tasks that have changed. The feed of changes reports them again.
    func settleRecurring(_ views: [DocumentSnapshot]) async throws -> Set<String> {
        var changed = Set<String>()
        let today = today
        let rule = FieldPath(key: "fields").appending(TaskSeries.ruleKey)
        for view in views where view.exists && view[rule] != nil && !FileExport.isBeingDeleted(view) {
            let item = TaskItem(withoutAttachments: view.fields(pendingTimes: .previous))
            guard item.series != nil, !item.isDeleted else { continue }
            var settled = item
            settled.settleDates(on: today)
            guard !TaskDiff(from: item, to: settled).isEmpty else { continue }
            try await change(view.name.id) { item in
                var item = item
                item.settleDates(on: today)
                return item
            }
            changed.insert(view.name.id)
        }
        return changed
    }
}
