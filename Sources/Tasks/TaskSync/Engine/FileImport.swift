import DocumentClient
import DocumentModel
import Merge
import Reconciliation
import TaskModel

/// Decides how a document follows from a change of its task file. Pure.
struct FileImport {
    let name: DocumentName
    let userID: UserID
    /// The owners of those lists of other users that this user may use.
    let hosts: [ListID: UserID]
    let replica: ReplicaID
    /// The day of completions for which files state no day.
    let today: CivilDate

    /// Returns the mutation with the user's changes; nil if there are none.
    ///
    /// - Parameters:
    ///   - shadow: The contents of the file when it was last in step; nil if it never was.
    ///   - file: The present contents.
    ///   - view: The document in this replica.
    ///   - unseen: The values that the change replaces unseen; see `UnseenVersion`.
    ///   - id: A new id for the displaced values.
    ///   - isBack: Whether the file was deleted since it was in step, and the user has created it
    ///     again.
    func mutation(
        shadow: FileContents?, file: FileContents, view: DocumentSnapshot, unseen: [Merge.DisplacedValue] = [],
        id: String, isBack: Bool = false
    ) -> Mutation? {
        let (shadow, file) = (shadow?.settled(on: today), file.settled(on: today, after: shadow))
        // If the document has not arrived, the last common contents of the file are all that is
        // known.
        let awaited = view.isAwaited ? shadow : nil
        guard view.exists || awaited != nil else { return creation(file) }
        // The model makes different forms of a value equal, such as a priority that another client
        // wrote as a word.
        var known = awaited?.fields ?? view.fields(pendingTimes: .previous)
        // An edit survives a delete, also one by this replica that was not sent yet.
        let isBeingDeleted = FileExport.isBeingDeleted(view)
        if isBeingDeleted { known["deletedTime"] = .timestamp(.distantPast) }
        let theirs = known.merging(TaskItem(fields: known).documentFields) { $1 }
        var mine = file.fields
        // At a first meeting, fields that only the server has were not removed by the file.
        if shadow == nil {
            mine.merge(theirs) { own, _ in own }
            mine["deletedTime"] = nil
            if mine[TaskLayout.head] == .string("") { mine[TaskLayout.head] = theirs[TaskLayout.head] }
        }
        var base = shadow?.fields
        if isBack { base?["deletedTime"] = theirs["deletedTime"] }
        let result = TaskMerge.merge(base: base, mine: mine, theirs: theirs)
        guard let merged = result.fields else { return nil }
        let old = TaskItem(fields: theirs)
        var new = TaskItem(fields: merged)
        new.settleDates(on: today)
        let diff = TaskDiff(from: old, to: owned(new, insteadOf: old))
        let appearance = TaskLayout.changes(from: theirs, to: merged)
        guard !diff.isEmpty || !appearance.isEmpty else { return nil }
        let displaced = result.displaced.filter {
            $0.side == .theirs && !(isBeingDeleted && $0.reason == .editSurvivesDelete)
        }
        let kept = unseen.filter { unseen in !displaced.contains { $0.field == unseen.field } }
        func history(of values: [Merge.DisplacedValue], id: String, isDismissed: Bool = false) -> [Write] {
            TaskHistory.writes(
                of: values, from: known, task: name, userID: known["userId"]?.stringValue.map { UserID($0) } ?? userID,
                replica: replica, baseTime: view.updateTime, id: id, isDismissed: isDismissed)
        }
        var companions = history(of: displaced + kept, id: id)
        // The deleted text would be in the trash if this were another task.
        if isBack, let notes = known["notes"], notes != merged["notes"],
            !kept.contains(where: { $0.field == FieldPath(key: "notes") })
        {
            let old = Merge.DisplacedValue(
                field: FieldPath(key: "notes"), value: notes, side: .theirs, reason: .editSurvivesDelete)
            companions += history(of: [old], id: "\(id)-deleted", isDismissed: true)
        }
        return mutation(diff, .merge, appearance: appearance, companions: companions)
    }

    /// Returns the item with its owner. A task that moves to another user's list belongs to that
    /// user, and one that leaves it to this user.
    func owned(_ item: TaskItem, insteadOf old: TaskItem) -> TaskItem {
        guard item.listId != old.listId else { return item }
        var item = item
        item.userId = ListSharing.owner(ofTasksIn: item.listId, hosts: hosts, user: userID)
        return item
    }

    func creation(_ contents: FileContents) -> Mutation {
        var item = contents.settled(on: today).item
        item.userId = ListSharing.owner(ofTasksIn: item.listId, hosts: hosts, user: userID)
        let appearance = TaskLayout.fields.compactMap { field in
            contents.fields[field].flatMap { $0 == .string("") ? nil : (field, $0) }
        }
        return mutation(TaskDiff(from: nil, to: item), .create, appearance: appearance)
    }

    /// Returns the mutation that changes one version of a task to another.
    ///
    /// - Parameter appearance: The fields of `TaskLayout` that change; nil removes one.
    func mutation(
        _ diff: TaskDiff, _ kind: Mutation.Kind, appearance: [(String, Value?)] = [], companions: [Write] = []
    ) -> Mutation {
        var fields: [String: Value] = [:]
        var mask = diff.changes.map(\.path)
        var times = diff.serverTimes
        for change in diff.changes {
            if let value = change.value { fields.setValue(value, at: change.path.segments[...]) }
        }
        for (field, value) in appearance {
            fields[field] = value
            mask.append(FieldPath(key: field))
        }
        // A changed comment is a change of the task.
        if diff.isEmpty, !appearance.isEmpty { times.append(FieldPath(key: "updatedTime")) }
        let mutation = Mutation(
            kind, name, fields: fields, mask: kind == .create ? [] : mask,
            transforms: times.map { FieldTransform($0, .serverTimestamp) }, companions: companions)
        return mutation.signed(by: replica)
    }

    /// The contents of a task file: the task and its layout.
    struct FileContents {
        var item: TaskItem
        /// The fields of `TaskLayout`.
        private let appearance: [String: Value]

        /// Creates the contents of a task without a file.
        init(_ item: TaskItem) {
            self.item = item
            appearance = [:]
        }

        /// Creates the contents of a task without a file, with the layout of another file.
        init(_ item: TaskItem, lookingLike file: TaskFile, named name: String) {
            self.item = item
            appearance = TaskLayout.fields(of: file, named: name)
        }

        init(_ file: TaskFile, named name: String) {
            item = file.item
            appearance = TaskLayout.fields(of: file, named: name)
        }

        /// Returns the contents of a recurring task, where `completed` stands for the occurrence
        /// that it completes.
        ///
        /// - Parameter before: The previous contents.
        func settled(on today: CivilDate, after before: FileContents? = nil) -> FileContents {
            var contents = self
            contents.item.settleDates(on: today, after: before?.item)
            return contents
        }

        /// The fields of the document that follow from the file.
        var fields: [String: Value] { item.documentFields.merging(appearance) { own, _ in own } }
    }
}
