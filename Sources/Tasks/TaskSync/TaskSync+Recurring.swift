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
    func settleRecurring(_ views: [DocumentSnapshot]) async throws -> Set<TaskID> {
        var changed = Set<TaskID>()
        let today = today
        let rule = FieldPath(key: "fields").appending(TaskSeries.ruleKey)
        for view in views where view.exists && view[rule] != nil && !FileExport.isBeingDeleted(view) {
            let item = TaskItem(withoutAttachments: view.fields(pendingTimes: .previous))
            guard item.series != nil, !item.isDeleted else { continue }
            var settled = item
            settled.settleDates(on: today)
            guard !TaskDiff(from: item, to: settled).isEmpty else { continue }
            try await change(view.name.task) { item in
                var item = item
                item.settleDates(on: today)
                return item
            }
            changed.insert(view.name.task)
        }
        return changed
    }

    /// Returns the id of the task in which an occurrence is kept, which is the same on all machines.
    nonisolated static func archiveID(of day: CivilDate, in series: TaskID) -> TaskID {
        TaskID(DocumentID.derived(from: "ferry occurrence\n\(series)\n\(day)"))
    }

    /// Keeps the current occurrence as a task of its own if a change has completed it, and moves that
    /// task to the trash if a change has reopened the occurrence.
    ///
    /// - Parameters:
    ///   - old: The version that was changed.
    ///   - known: The document before the change, if it is another version.
    ///   - always: Whether the occurrence is kept also if the task does not say so.
    /// - Returns: The steps with which the user can undo this.
    static func archiveOccurrence(
        completedBy new: TaskItem, in old: TaskItem, beside known: TaskItem? = nil, always: Bool, _ engine: FileImport,
        _ transaction: ReplicaTransaction
    ) throws -> [UndoStep] {
        let known = known ?? old
        let series = engine.name.task
        var steps: [UndoStep] = []
        // The occurrence that is current again. Other days may be taken from the set by hand.
        if let day = new.occurrence, known.instances[day]?.state == .done, new.instances[day] == nil {
            let id = archiveID(of: day, in: series)
            let view = try transaction.task(id)
            if view.exists, !FileExport.isBeingDeleted(view) {
                try trash(id, in: transaction)
                steps.append(UndoStep(.remove, id))
            }
        }
        guard always || OccurrenceArchive.isWanted(by: new), let day = old.occurrence,
            known.instances[day]?.state != .done, new.instances[day]?.state == .done
        else { return steps }
        let id = archiveID(of: day, in: series)
        let view = try transaction.task(id)
        let copy = OccurrenceArchive.task(of: day, from: old, completed: new)
        let target = FileImport(
            name: view.name, userID: engine.userID, hosts: engine.hosts, replica: engine.replica, today: engine.today)
        guard view.exists else {
            try transaction.append(target.creation(FileImport.FileContents(copy)))
            return steps + [UndoStep(.add, id, after: copy)]
        }
        var archived = TaskItem(fields: view.fields(pendingTimes: .previous))
        guard archived.isDeleted || FileExport.isBeingDeleted(view) else { return steps }
        // The occurrence was reopened, and is completed again. What was written into it since stays.
        archived.deletedTime = .distantPast
        var restored = archived
        restored.deletedTime = nil
        try transaction.append(target.mutation(TaskDiff(from: archived, to: restored), .merge))
        return steps + [UndoStep(.restore, id)]
    }
}
