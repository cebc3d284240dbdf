import DocumentClient
package import DocumentModel
import Merge
import Reconciliation
package import TaskModel

/// The undo of a change of one task, done or previewed.
package struct UndoneChange: Sendable {
    package enum Kind: Sendable {
        /// The task is moved to the trash again.
        case removed
        case restored
        case changed
    }

    package let task: TaskID
    package let title: String
    package let kind: Kind
    /// Whether the change that is undone came from another machine.
    package let cameFromElsewhere: Bool
    /// The changed fields with their present values and those after the undo.
    package let fields: [(path: FieldPath, now: Value?, then: Value?)]
    /// The fields that were changed again since and are left alone.
    package let leftAlone: [FieldPath]
}

extension TaskSync {
    /// Undoes the last command that changed tasks here, or the last change of one task by a command
    /// or another machine. The undo is a new change; later changes of other fields stay.
    ///
    /// - Parameter isTrial: Whether the undo is only previewed.
    /// - Throws: `TaskSyncError` with `.notFound` if there is nothing to undo.
    package func undo(_ task: TaskID?, isTrial: Bool) async throws -> [UndoneChange] {
        try await withExclusiveAccess {
            try requireRoot()
            let steps = try await client.reading { transaction in
                let steps = UndoSteps(transaction)
                return try task.map { try steps.last(undoable: $0).map { [$0] } ?? [] } ?? steps.lastCommand()
            }
            guard !steps.isEmpty else {
                throw TaskSyncError(
                    .notFound,
                    task == nil
                        ? "No command of this machine is left to undo." : "No change of this task is left to undo here."
                )
            }
            for step in steps { try await readFirst(step.task) }
            var changes: [UndoneChange] = []
            for step in steps {
                if let change = try await undo(step, isTrial: isTrial) { changes.append(change) }
            }
            if !isTrial {
                try await removeAgain(steps.filter { $0.effect == .removed })
                try await exportChanges()
            }
            return changes
        }
    }

    /// Undoes a step.
    ///
    /// - Returns: The undo; nil if the task was deleted permanently.
    private func undo(_ step: UndoStep, isTrial: Bool) async throws -> UndoneChange? {
        guard let entry = catalog[step.task] else {
            if !isTrial { try await client.transaction { try UndoSteps($0).markUndone(step) } }
            return nil
        }
        if let attachment = step.attachment {
            return try await undo(step, attachment, entry.title, isTrial: isTrial)
        }
        let now = try await detail(step.task).item
        let then = step.undone(now)
        let diff = TaskDiff(from: now, to: then.item)
        let change = UndoneChange(
            task: step.task, title: entry.title, kind: step.effect, cameFromElsewhere: step.kind == .sync,
            fields: diff.changes.map { ($0.path, now.documentFields.value(at: $0.path.segments[...]), $0.value) }
                .filter { TaskOrigin.isTold($0.0) && $0.0.segments != ["deletedTime"] },
            leftAlone: then.leftAlone)
        guard !isTrial else { return change }
        // Tasks are moved to the trash together; see `removeAgain`.
        guard step.effect != .removed else { return change }
        let item = then.item
        try await self.change(step.task) { _ in item }
        let time = configuration.wallClock()
        try await client.transaction { transaction in
            let steps = UndoSteps(transaction)
            try steps.markUndone(step)
            try steps.add([UndoStep(.undo, step.task, before: now, after: then.item)], at: time)
        }
        return change
    }

    /// Moves the tasks that steps have added to the trash, as one change.
    private func removeAgain(_ steps: [UndoStep]) async throws {
        let present = steps.filter { catalog[$0.task] != nil }
        guard !present.isEmpty else { return }
        let time = configuration.wallClock()
        try await client.transaction { transaction in
            let known = UndoSteps(transaction)
            var undone: [UndoStep] = []
            for step in present {
                let item = TaskItem(fields: try transaction.task(step.task).fields(pendingTimes: .previous))
                undone.append(UndoStep(.undo, step.task, before: item, after: item))
                try Self.trash(step.task, in: transaction)
                try known.markUndone(step)
            }
            try known.add(undone, at: time)
        }
    }

    /// Restores an attachment that was removed or replaced, or removes one that was restored.
    private func undo(
        _ step: UndoStep, _ attachment: UndoStep.Attachment, _ title: String, isTrial: Bool
    ) async throws -> UndoneChange {
        let path = FieldPath(key: "attachments").appending(attachment.id.rawValue)
        let now = try await client.document(try await name(of: step.task))[path]
        let isChangedSince =
            !Self.hasSameContent(now, attachment.after) && !Self.hasSameContent(now, attachment.before)
        let changes = !isChangedSince && !Self.hasSameContent(now, attachment.before)
        if !isTrial {
            if changes {
                let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
                try await client.transaction { transaction in
                    _ = try Self.setAttachment(
                        attachment.id, of: step.task, to: attachment.before, as: .undo, userID: userID, merge: merge,
                        transaction)
                    try UndoSteps(transaction).markUndone(step)
                }
            } else {
                try await client.transaction { try UndoSteps($0).markUndone(step) }
            }
        }
        return UndoneChange(
            task: step.task, title: title, kind: .changed, cameFromElsewhere: !step.kind.isOfCommand,
            fields: changes ? [(path, now, attachment.before)] : [], leftAlone: isChangedSince ? [path] : [])
    }

    /// Records what a command did to tasks in the trash.
    func noteSteps(_ kind: UndoStep.Kind, _ tasks: [TaskID]) async throws {
        let time = configuration.wallClock()
        try await client.transaction { transaction in
            try UndoSteps(transaction).add(tasks.map { UndoStep(kind, $0) }, at: time)
        }
    }
}

extension UndoStep {
    /// The effect of undoing this step.
    var effect: UndoneChange.Kind {
        switch kind {
        case .add, .restore: .removed
        case .remove: .restored
        case .edit, .sync, .undo, .attachment, .beside, .save, .arrival: .changed
        }
    }

    /// Returns the task without this step, and the fields that were changed again since. Pure.
    func undone(_ now: TaskItem) -> (item: TaskItem, leftAlone: [FieldPath]) {
        switch effect {
        case .removed: return (now, [])
        case .restored:
            var item = now
            item.deletedTime = nil
            return (item, [])
        case .changed:
            guard let before, let after else { return (now, []) }
            // Both the present task and the undone one derive from the result of the step; the
            // present one counts as the later.
            let result = TaskMerge.merge(
                base: after.withBookkeeping(of: now).documentFields, mine: now.documentFields,
                theirs: before.withBookkeeping(of: now).documentFields)
            guard let merged = result.fields else { return (now, []) }
            return (TaskItem(fields: merged), result.displaced.map(\.field).filter(TaskOrigin.isTold))
        }
    }
}

extension TaskItem {
    /// Returns the item with those fields of another version that a task's file does not contain.
    fileprivate func withBookkeeping(of other: TaskItem) -> TaskItem {
        var item = self
        item.attachments = other.attachments
        item.userId = other.userId
        (item.createdTime, item.updatedTime) = (other.createdTime, other.updatedTime)
        (item.completedTime, item.deletedTime) = (other.completedTime, other.deletedTime)
        return item
    }
}
