import CivilTime
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel
import TaskSync

/// The occurrences of recurring tasks that users completed, by the tasks' birth marks.
struct Completions {
    /// The occurrences that a user wanted to complete, whether or not the process survived it.
    private var wanted: [String: Set<CivilDate>] = [:]
    /// The occurrences that a command completed and reported as completed.
    private(set) var confirmed: [String: Set<CivilDate>] = [:]
    /// The number of commands that completed an unknown occurrence, because the process died first.
    private var unknown: [String: Int] = [:]
    /// The tasks of which a user reopened an occurrence.
    private(set) var reopened: Set<String> = []

    /// The deleted tasks that a task may continue. Another machine may complete an occurrence before
    /// it learns that.
    private var predecessors: [String: Set<String>] = [:]

    /// Whether no user has created a recurring task.
    var isEmpty = true

    mutating func succeed(_ marks: Set<String>, after deleted: Set<String>) {
        for mark in marks where !deleted.isEmpty {
            let earlier = deleted.reduce(into: deleted) { $0.formUnion(predecessors[$1] ?? []) }
            predecessors[mark, default: []].formUnion(earlier)
        }
    }

    /// Returns the occurrences that users wanted to complete of a task with these marks, or of those
    /// that it continues, and the number of unknown ones.
    func wanted(of marks: Set<String>) -> (days: Set<CivilDate>, unknown: Int) {
        let all = marks.reduce(into: marks) { $0.formUnion(predecessors[$1] ?? []) }
        return (
            all.reduce(into: []) { $0.formUnion(wanted[$1] ?? []) }, all.reduce(0) { $0 + (unknown[$1] ?? 0) }
        )
    }

    mutating func want(_ occurrences: some Sequence<CivilDate>, of marks: Set<String>) {
        for mark in marks { wanted[mark, default: []].formUnion(occurrences) }
    }

    mutating func begin(_ marks: Set<String>) { for mark in marks { unknown[mark, default: 0] += 1 } }

    /// - Parameter task: The marks of the task that the command has completed. The file at its path
    ///   may be another one by then.
    mutating func end(_ marks: Set<String>, _ occurrences: Set<CivilDate>, of task: Set<String>) {
        want(occurrences, of: marks)
        for mark in marks { unknown[mark, default: 0] -= 1 }
        for mark in task { confirmed[mark, default: []].formUnion(occurrences) }
    }

    mutating func reopen(_ marks: Set<String>) { reopened.formUnion(marks) }

    /// Returns the occurrence that a completion of a task without a date means.
    private static func firstOccurrence(of item: TaskItem) -> CivilDate? {
        guard item.currentDate == nil else { return nil }
        var open = item
        open.completed = false
        open.settleDates(on: CivilDate(CalendarDay(clampingDaysSinceEpoch: 0)))
        return open.occurrence
    }

    /// Records that a user saved `new`, in which `completed` and new elements of
    /// `complete_instances` complete occurrences.
    mutating func edit(_ old: [UInt8], to new: [UInt8], at path: String) {
        guard !isEmpty, let item = try? TaskFile(parsing: new, named: path).item, item.series != nil else { return }
        let marks = Words.found(in: new, "b")
        if item.completed, let occurrence = item.occurrence ?? Self.firstOccurrence(of: item) {
            want([occurrence], of: marks)
        }
        let before = try? TaskFile(parsing: old, named: path).item
        // While syncing is paused, a file still has the mark of an occurrence that was completed.
        if before?.completed == true, !item.completed { reopen(marks) }
        want(item.instances.keys.filter { before?.instances[$0] == nil }, of: marks)
    }
}

/// The actions of users at recurring tasks, and their laws.
extension Simulation {
    private static let rules = [
        "recurrence: FREQ=DAILY", "recurrence: FREQ=WEEKLY;COUNT=4",
        "recurrence: DTSTART:20261101;FREQ=WEEKLY;BYDAY=MO,TH|catch-up: each",
        "recurrence: FREQ=DAILY;INTERVAL=3|recurrence_anchor: completion",
        "recurrence: FREQ=DAILY;UNTIL=20261208", "recurrence: FREQ=DAILY;COUNT=3|recurrence_anchor: completion",
    ]

    /// Creates a recurring task, or completes or skips the current occurrence of one.
    func recur(_ paths: [String], _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let files = machine.files
        let recurring = paths.filter { Draft(files[$0] ?? []).value("recurrence") != nil }
        guard let path = random.pick(recurring), let old = files[path], !random.chance(recurring.count < 3 ? 30 : 8)
        else { return try createRecurring(machine, &random) }
        switch random.below(10) {
        case 0...3:
            var draft = Draft(old)
            draft.set("completed", "true")
            try save(path, old, draft.bytes, machine, &random)
            tell(machine, "completes an occurrence of '\(path)'")
        case 4:
            guard let date = (try? TaskFile(parsing: old, named: path).item)?.occurrence else { return }
            var draft = Draft(old)
            // As TaskNotes does, which leaves it to others to move the date.
            let list = draft.value("complete_instances").map { "\($0.dropLast()), \(date)]" }
            draft.set("complete_instances", list ?? "[\(date)]")
            try save(path, old, draft.bytes, machine, &random)
            tell(machine, "adds \(date) to the occurrences of '\(path)'")
        default:
            var edit = TaskEdit()
            edit.today = today(of: machine)
            switch random.below(10) {
            case 0: edit.isCompleted = false
            case 1...2: edit.skipsOccurrence = true
            default: edit.isCompleted = true
            }
            tell(machine, "edits the occurrence of '\(path)' by command: \(edit.isCompleted.map { "\($0)" } ?? "skip")")
            machine.perform { [self, edit] sync in
                guard let id = await sync.task(atPath: path) else { return }
                try await self.edit(id, edit, sync, marks: Words.found(in: old, "b"))
            }
        }
    }

    private func createRecurring(_ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let path = title(&random) + ".md"
        guard machine.files[path] == nil, !machine.busy.contains(path), let rule = random.pick(Self.rules) else {
            return
        }
        var draft = Draft([])
        draft.head = rule.split(separator: "|").map(String.init)
        draft.set(random.chance(30) ? "scheduled" : "due", "2026-11-\(10 + random.below(20))")
        draft.body = ["born \(words.makeBirth())"]
        completions.isEmpty = false
        try machine.disk.write(path, draft.bytes)
        machine.noteNew(path)
        words.replace([], with: draft.bytes)
        words.place(draft.bytes, at: path)
        succeed(draft.bytes, at: path, machine)
        words.rename("", to: path)
        tell(machine, "makes '\(path)', which recurs: \(Words.short(draft.bytes))")
    }

    /// Runs an edit, and notes which occurrences of a recurring task it completes.
    ///
    /// - Parameter marks: The marks of a task that is known to recur, although the bridge may not have
    ///   read its file.
    func edit(_ id: TaskID, _ edit: TaskEdit, _ sync: TaskSync, marks: Set<String> = []) async throws {
        guard !completions.isEmpty else { return try await sync.edit(id, edit) }
        let before = (try? await sync.detail(id).item) ?? TaskItem(title: "")
        let marks = marks.union(Words.found(in: Array(before.notes.utf8), "b"))
        if edit.isCompleted == false { completions.reopen(marks) }
        guard edit.isCompleted == true else { return try await sync.edit(id, edit) }
        completions.begin(marks)
        try await sync.edit(id, edit)
        let after = try await sync.detail(id).item
        completions.end(
            marks, Set(after.instances.filter { $0.value.state == .done }.keys).subtracting(before.instances.keys),
            of: Words.found(in: Array(after.notes.utf8), "b"))
    }

    private func today(of machine: SimulatedMachine) -> CivilDate {
        CivilDate(
            CalendarDay(localAt: Self.timestamp(scheduler.now).microseconds / 1_000_000 + machine.clockSkew / 1000))
    }

    /// Checks that recurring tasks have exactly the completed occurrences that users completed, and
    /// the dates that follow from them.
    func checkOccurrences(_ documents: [String: Document]) {
        for (path, document) in documents.sorted(by: { $0.key < $1.key })
        where document.name.collectionPath == "tasks" && document.fields["deletedTime"] == nil {
            let item = TaskItem(document)
            guard item.series != nil else { continue }
            let marks = Words.found(in: Array(item.notes.utf8), "b")
            let done = Set(item.instances.filter { $0.value.state == .done }.keys)
            let wanted = completions.wanted(of: marks)
            let surplus = done.subtracting(wanted.days)
            if surplus.count > wanted.unknown {
                break_("\(path) \(marks.sorted()) has occurrences that nobody completed: \(surplus.sorted())")
            }
            var settled = item
            settled.settleDates(on: CivilDate(CalendarDay(clampingDaysSinceEpoch: 0)))
            if !TaskDiff(from: item, to: settled).isEmpty {
                break_("the date of \(path) \(marks.sorted()) does not follow from its occurrences")
            }
            guard marks.count == 1, let mark = marks.first, words.births[mark] == 1,
                !completions.reopened.contains(mark), !leavesEmptyFiles, server.restoreCount == 0
            else { continue }
            let history = Set(
                documents.keys.filter { $0.hasPrefix(path + "/") }.compactMap {
                    documents[$0]?.fields["field"]?.stringValue
                })
            for day in completions.confirmed[mark, default: []].subtracting(done).sorted()
            where !history.contains("instances.`\(day)`") {
                break_("\(path) \(mark) lacks the occurrence \(day), which was completed")
            }
        }
    }
}
