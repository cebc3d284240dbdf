import CivilTime
import DocumentModel
import Merge
import TaskModel
import Testing

@testable import Reconciliation

/// Random histories of a recurring task on machines that exchange their changes through one server.
@Suite("Histories of recurring tasks")
struct RecurringHistoryTests {
    private struct Machine {
        var base: [String: Value]
        var fields: [String: Value]
        /// The error of its clock in days.
        let error: Int
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static let heads: [[String: Value]] = [
        ["recurrence": .string("FREQ=DAILY")],
        ["recurrence": .string("DTSTART:20261101;FREQ=WEEKLY;BYDAY=MO,TH"), "catch-up": .string("each")],
        ["recurrence": .string("FREQ=DAILY;INTERVAL=3"), "recurrence_anchor": .string("completion")],
        // Series that end, on a machine whose clock is months ahead earlier than on others.
        ["recurrence": .string("FREQ=MONTHLY;COUNT=5"), "scheduled": .string("2026-11-02T09:00")],
        ["recurrence": .string("FREQ=WEEKLY;UNTIL=20261215")],
        ["recurrence": .string("FREQ=WEEKLY;COUNT=4"), "recurrence_anchor": .string("completion")],
        ["recurrence": .string("FREQ=DAILY;COUNT=6"), "catch-up": .string("each")],
    ]

    @Test("All machines agree, and only what somebody completed is completed, once", arguments: heads.indices)
    func histories(_ kind: Int) throws {
        for seed in 0..<400 {
            var random = Generator(state: UInt64(kind * 1_000_000 + seed))
            let item = TaskItem(
                title: "a", due: Due(parsing: "2026-11-02"), fields: Self.heads[kind])
            var server = item.documentFields
            var machines = (0..<Int.random(in: 2...4, using: &random)).map { _ in
                Machine(base: server, fields: server, error: Int.random(in: -3...3, using: &random) * 100)
            }
            var completed = Set<CivilDate>()
            func exchange(_ index: Int, _ day: Int) throws {
                let today = CivilDate(CalendarDay(clampingDaysSinceEpoch: 20_759 + day + machines[index].error))
                let machine = machines[index]
                let result = TaskMerge.merge(base: machine.base, mine: machine.fields, theirs: server)
                #expect(result.displaced.allSatisfy { $0.reason == .replaced }, "seed \(seed)")
                var merged = TaskItem(fields: try #require(result.fields))
                merged.settleDates(on: today)
                server = merged.documentFields
                machines[index].base = server
                machines[index].fields = server
            }
            for day in 0..<20 {
                for index in machines.indices {
                    let today = CivilDate(CalendarDay(clampingDaysSinceEpoch: 20_759 + day + machines[index].error))
                    var item = TaskItem(fields: machines[index].fields)
                    switch Int.random(in: 0..<7, using: &random) {
                    case 0, 1:
                        if let occurrence = item.occurrence { completed.insert(occurrence) }
                        item.settleOccurrence(as: .done, on: today)
                    case 2:
                        // As an editor or another app does.
                        if let occurrence = item.occurrence { completed.insert(occurrence) }
                        item.completed = true
                        item.settleDates(on: today)
                    case 3:
                        try exchange(index, day)
                        continue
                    case 4 where Int.random(in: 0..<4, using: &random) == 0:
                        // An app completes the task on the server, and no machine reads that at once.
                        var foreign = TaskItem(fields: server)
                        guard let occurrence = foreign.occurrence else { continue }
                        completed.insert(occurrence)
                        foreign.completed = true
                        server = foreign.documentFields
                        continue
                    default: continue
                    }
                    machines[index].fields = item.documentFields
                }
            }
            for _ in 0..<2 { for index in machines.indices { try exchange(index, 20) } }
            #expect(machines.allSatisfy { $0.fields == server }, "seed \(seed)")
            let end = TaskItem(fields: server)
            let done = Set(end.instances.filter { $0.value.state == .done }.keys)
            #expect(done == completed, "seed \(seed)")
            #expect(end.completed == (end.occurrence == nil), "seed \(seed)")
        }
    }

    private func document(_ head: [String: Value], due: String, completed: Bool = false) -> [String: Value] {
        TaskItem(title: "a", completed: completed, due: Due(parsing: due), fields: head).documentFields
    }

    @Test("A completion by another app is the one of the occurrence that it had")
    func foreignCompletion() throws {
        let base = document(Self.heads[0], due: "2026-11-02")
        let theirs = document(Self.heads[0], due: "2026-11-02", completed: true)
        var mine = TaskItem(fields: base)
        mine.settleOccurrence(as: .done, on: try #require(CivilDate("2026-11-02")))
        let merged = TaskItem(
            fields: try #require(
                TaskMerge.merge(base: base, mine: mine.documentFields, theirs: theirs).fields))
        #expect(merged == mine)
    }

    @Test("A date that is added to a series that is over completes nothing")
    func addedDate() throws {
        let today = try #require(CivilDate("2026-11-02"))
        var over = TaskItem(fields: document(["recurrence": .string("FREQ=DAILY;COUNT=1")], due: "2026-11-02"))
        over.settleOccurrence(as: .done, on: today)
        #expect(over.completed)
        var moved = over
        moved.due = Due(parsing: "2026-12-24")
        let merged = try #require(
            TaskMerge.merge(
                base: over.documentFields, mine: moved.documentFields,
                theirs: over.documentFields.merging(["title": .string("b")]) { $1 }
            ).fields)
        #expect(TaskItem(fields: merged).instances == over.instances)
        #expect(TaskItem(fields: merged).completed == false)
        moved.settleDates(on: today, after: over)
        #expect(moved.instances == over.instances && !moved.completed)
    }

    @Test("A rule that is extended after its end continues")
    func extendedRule() throws {
        let today = try #require(CivilDate("2026-11-02"))
        var over = TaskItem(fields: document(["recurrence": .string("FREQ=DAILY;COUNT=1")], due: "2026-11-02"))
        over.settleOccurrence(as: .done, on: today)
        over.fields["recurrence"] = .string("DTSTART:20261102;FREQ=DAILY;COUNT=2")
        over.settleDates(on: today)
        #expect(!over.completed && over.due?.text == "2026-11-03" && over.instances.count == 1)
        over.settleDates(on: today)
        #expect(over.due?.text == "2026-11-03" && over.instances.count == 1)
    }
}
