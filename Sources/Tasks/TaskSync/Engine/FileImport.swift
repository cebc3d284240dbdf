import DocumentClient
import DocumentModel
import Merge
import Reconciliation
import TaskModel

/// What a change of a task file means for its document. Pure.
struct FileImport {
    let name: DocumentName
    let userID: UserID
    /// The owners of the lists of others that the user may use.
    let hosts: [String: UserID]
    let replica: String
    /// The day of completions that files say without a day.
    let today: CivilDate

    /// The mutation that carries what the user changed; nil if nothing did.
    ///
    /// - Parameters:
    ///   - shadow: what the file said when it was last in step; nil if it never was.
    ///   - file: what it says now.
    ///   - view: the document as this replica sees it.
    ///   - unseen: what the change puts away unseen; see `UnseenVersion`.
    ///   - id: names what is displaced; not used before.
    ///   - isBack: whether the file was deleted since it was in step, which its user has taken back by making it again.
    func mutation(
        shadow: FileContents?, file: FileContents, view: DocumentSnapshot, unseen: [Merge.DisplacedValue] = [],
        id: String, isBack: Bool = false
    ) -> Mutation? {
        let (shadow, file) = (shadow?.settled(on: today), file.settled(on: today, after: shadow))
        // Of a document that is awaited, what the file said when it was in step is all that is known.
        let awaited = view.isAwaited ? shadow : nil
        guard view.exists || awaited != nil else { return creation(file) }
        // Through the model, so that another client's way of writing a value (a priority as a word) is no difference.
        var known = awaited?.fields ?? view.fields(pendingTimes: .previous)
        // An edit survives a delete, also one of this replica's that is still on its way.
        let isBeingDeleted = FileExport.isBeingDeleted(view)
        if isBeingDeleted { known["deletedTime"] = .timestamp(.distantPast) }
        let theirs = known.merging(TaskItem(fields: known).documentFields) { $1 }
        var mine = file.fields
        // A first meeting: what only the remote knows is not something that the file removed.
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
        // The deleted text would be in the trash, were this another task.
        if isBack, let notes = known["notes"], notes != merged["notes"],
            !kept.contains(where: { $0.field == FieldPath(key: "notes") })
        {
            let old = Merge.DisplacedValue(
                field: FieldPath(key: "notes"), value: notes, side: .theirs, reason: .editSurvivesDelete)
            companions += history(of: [old], id: "\(id)-deleted", isDismissed: true)
        }
        return mutation(diff, .merge, appearance: appearance, companions: companions)
    }

    /// A task that changes to a list of somebody else's becomes that user's, and one that is taken
    /// out of it this user's.
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

    /// - Parameter appearance: fields of `TaskLayout` that change; nil removes one.
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
        // A comment that changed is a change of the task.
        if diff.isEmpty, !appearance.isEmpty { times.append(FieldPath(key: "updatedTime")) }
        let mutation = Mutation(
            kind, name, fields: fields, mask: kind == .create ? [] : mask,
            transforms: times.map { FieldTransform($0, .serverTimestamp) }, companions: companions)
        return mutation.signed(by: replica)
    }

    /// What a task file says, and how.
    struct FileContents {
        var item: TaskItem
        /// The fields of `TaskLayout`.
        private let appearance: [String: Value]

        /// A task that has no file yet.
        init(_ item: TaskItem) {
            self.item = item
            appearance = [:]
        }

        /// A task that has no file yet, in the layout of one.
        init(_ item: TaskItem, lookingLike file: TaskFile, named name: String) {
            self.item = item
            appearance = TaskLayout.fields(of: file, named: name)
        }

        init(_ file: TaskFile, named name: String) {
            item = file.item
            appearance = TaskLayout.fields(of: file, named: name)
        }

        /// What the file says of a recurring task, with `completed` as the occurrence that it completes.
        ///
        /// - Parameter before: What it said before.
        func settled(on today: CivilDate, after before: FileContents? = nil) -> FileContents {
            var contents = self
            contents.item.settleDates(on: today, after: before?.item)
            return contents
        }

        /// The fields of the document that the file determines.
        var fields: [String: Value] { item.documentFields.merging(appearance) { own, _ in own } }
    }
}
