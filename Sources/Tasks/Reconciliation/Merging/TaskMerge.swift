package import DocumentModel
package import Merge
import TaskModel

/// Merges two edits of a task's document.
///
/// `completed` of a recurring task means one of two things: the series is over, or an app that does
/// not know recurring tasks has completed the current occurrence. Only a single version shows which.
/// After a merge it could be the end of the series on one side with the open occurrence of the other
/// side. So each version is read before the merge, and the end of the series is computed again
/// after it.
package enum TaskMerge {
    /// Merges two versions as `DocumentMerge` does, with the rules of tasks.
    package static func merge(
        base: [String: Value]?, mine: [String: Value]?, theirs: [String: Value]?
    ) -> MergeResult {
        let (mine, theirs, displaced) = mergingReminders(
            base: base, mine: mine.map { readingCompletion(of: $0, after: base) },
            theirs: theirs.map { readingCompletion(of: $0, after: base) })
        let result = DocumentMerge.merge(
            base: base.map { readingCompletion(of: $0, after: nil) }, mine: mine, theirs: theirs, policy: .tasks)
        return MergeResult(fields: result.fields.map(computingEnd), displaced: result.displaced + displaced)
    }

    /// Returns both versions with the merged list of reminders, if they disagree about it, and the
    /// list of `theirs` if a change in it is not part of the result.
    package static func mergingReminders(
        base: [String: Value]?, mine: [String: Value]?, theirs: [String: Value]?
    ) -> (mine: [String: Value]?, theirs: [String: Value]?, displaced: [DisplacedValue]) {
        let path = ReminderMerge.path
        guard var mine, var theirs,
            let (list, losesTheirs) = ReminderMerge.merged(base: base, mine: mine, theirs: theirs)
        else { return (mine, theirs, []) }
        let lost = theirs.value(at: path.segments[...])
        mine.setValue(list, at: path.segments[...])
        theirs.setValue(list, at: path.segments[...])
        let displaced = DisplacedValue(field: path, value: lost, side: .theirs, reason: .changedOnBothSides)
        return (mine, theirs, losesTheirs ? [displaced] : [])
    }

    /// Returns a version of a recurring task in which `completed` means that the series is over:
    /// otherwise it has become the completion of the occurrence that was current in this version.
    ///
    /// - Parameter base: The earlier version. If the series was over there, `completed` is left over
    ///   from that.
    package static func readingCompletion(
        of fields: [String: Value], after base: [String: Value]?
    ) -> [String: Value] {
        guard let item = recurringTask(fields), item.completed, let occurrence = item.occurrence else { return fields }
        var read = item
        // The day of the completion is not known.
        read.settleDates(on: occurrence, after: base.flatMap(recurringTask))
        return applying(TaskDiff(from: item, to: read), to: fields)
    }

    /// Returns a merged version of a recurring task that is not completed unless the series is over.
    package static func computingEnd(of fields: [String: Value]) -> [String: Value] {
        guard var item = recurringTask(fields), item.completed, let date = item.currentDate else { return fields }
        item.completed = false
        var settled = item
        settled.settleDates(on: date)
        guard !settled.completed else { return fields }
        var fields = fields
        fields["completed"] = .boolean(false)
        fields["completedTime"] = nil
        return fields
    }

    private static func recurringTask(_ fields: [String: Value]) -> TaskItem? {
        guard fields["fields"]?.mapValue?[TaskSeries.ruleKey] != nil else { return nil }
        return TaskItem(withoutAttachments: fields)
    }

    private static func applying(_ diff: TaskDiff, to fields: [String: Value]) -> [String: Value] {
        var fields = fields
        for change in diff.changes { fields.setValue(change.value, at: change.path.segments[...]) }
        return fields
    }
}
