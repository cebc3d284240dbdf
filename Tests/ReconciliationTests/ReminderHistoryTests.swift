import CivilTime
import DocumentModel
import Merge
import TaskModel
import Testing

@testable import Reconciliation

/// Random histories of the reminders of one user's tasks on machines that exchange their changes
/// through one server, with clocks that are wrong and are set, in several time zones.
@Suite("Histories of reminders")
struct ReminderHistoryTests {
    private static let hour: Int64 = 3600
    private static let day: Int64 = 86_400
    /// 2026-11-02, midnight in UTC.
    private static let start: Int64 = 20_759 * day

    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private struct Machine {
        var base: [[String: Value]]
        var fields: [[String: Value]]
        /// The error of its clock in seconds.
        var error: Int64
        let zone: ZoneOffsets
        var planner: ReminderPlanner
        var isIdle = false
        var hasDesktop = true
        var shownCounts: [ReminderKey: Int] = [:]

        init(_ server: [[String: Value]], error: Int64, offset: Int64) {
            (base, fields, self.error) = (server, server, error)
            zone = ZoneOffsets { _ in offset }
            planner = ReminderPlanner(since: ReminderHistoryTests.start + error)
        }

        func situation(at time: Int64) -> ReminderPlanner.Situation {
            ReminderPlanner.Situation(
                now: time + error, zone: zone, user: UserID("alice"), canShow: hasDesktop, isIdle: isIdle)
        }

        var items: [TaskItem] { fields.map { TaskItem(fields: $0) } }

        var reminders: [TaskID: TaskReminders] {
            Dictionary(
                uniqueKeysWithValues: items.enumerated().compactMap { index, item in
                    TaskReminders(item).map { (TaskID(String(index)), $0) }
                })
        }

        func today(at time: Int64) -> CivilDate {
            CivilDate(CalendarDay(clampingDaysSinceEpoch: Int(zone.local(at: time + error) / ReminderHistoryTests.day)))
        }

        /// Makes a plan, and returns the laws that it violates.
        mutating func plan(at time: Int64) -> [String] {
            let situation = situation(at: time)
            let plan = planner.plan(reminders, in: situation)
            var violations: [String] = []
            let items = items
            for key in plan.show.flatMap(\.keys) {
                shownCounts[key, default: 0] += 1
                if shownCounts[key] ?? 0 > 1 { violations.append("\(key) was shown twice") }
                guard let task = Int(key.task.rawValue), items.indices.contains(task) else { continue }
                let item = items[task]
                if item.completed { violations.append("\(key) was shown although its task is completed") }
                if let day = item.currentDate, item.instances[day]?.state == .done {
                    violations.append("\(key) was shown although its occurrence is completed")
                }
                if let until = TaskReminders(item)?.snoozes["alice"], until > situation.now {
                    violations.append("\(key) was shown although its task is snoozed until \(until)")
                }
                if isDue(key, after: situation) { violations.append("\(key) was shown before its time") }
            }
            return violations
        }

        private func isDue(_ key: ReminderKey, after situation: ReminderPlanner.Situation) -> Bool {
            let delay: Int64 = situation.isIdle ? 60 : 0
            let instant = key.reminder == "snooze" ? key.time : zone.instant(ofLocal: key.time)
            return instant + delay > situation.now
        }

        /// The reminders whose notices are on the desktop although nothing is due for them.
        func staleNotices(at time: Int64) -> [ReminderKey] {
            let (situation, reminders) = (situation(at: time), reminders)
            return planner.open.filter { notice in
                notice.keys.allSatisfy { !planner.isCurrent($0, in: reminders, situation) }
            }.flatMap(\.keys)
        }
    }

    private static func tasks() throws -> [[String: Value]] {
        let heads = [
            "recurrence: FREQ=DAILY\ndue: 2026-11-02T09:00",
            "recurrence: FREQ=DAILY;INTERVAL=2\nrecurrence_anchor: completion\ndue: 2026-11-03T12:30",
            "due: 2026-11-04T18:00\nreminders:\n  - id: a\n    type: relative\n    relatedTo: due\n    offset: -PT6H\n",
        ]
        return try heads.map { head in
            try TaskFile(parsing: Array("---\n\(head)\n---\n".utf8), named: "a.md").item.documentFields
        }
    }

    /// Changes a task as a user does at a machine.
    private static func act(_ machine: inout Machine, at time: Int64, _ random: inout Generator) {
        let task = machine.fields.indices.randomElement(using: &random) ?? 0
        var item = machine.items[task]
        switch Int.random(in: 0..<12, using: &random) {
        case 0...2:
            item.settleOccurrence(as: .done, on: machine.today(at: time))
            if item.series == nil { item.completed = true }
        case 3...6:
            let until = time + machine.error + Int64.random(in: 1...30, using: &random) * 600
            item.snooze(until: Timestamp(seconds: until, nanos: 0), for: UserID("alice"))
        case 7: item.snooze(until: nil, for: UserID("alice"))
        case 8:
            item.completed = false
            let date = machine.today(at: time + Int64.random(in: 0...3, using: &random) * day)
            item.setDue(Due(parsing: "\(date)T0\(Int.random(in: 0...9, using: &random)):15"))
        default:
            // The user closes a notice, which says nothing to other machines.
            if let notice = machine.planner.open.randomElement(using: &random) { machine.planner.forget(notice.id) }
            return
        }
        item.settleDates(on: machine.today(at: time))
        machine.fields[task] = item.documentFields
    }

    private static func exchange(
        _ machine: inout Machine, _ server: inout [[String: Value]], at time: Int64
    ) throws {
        for task in server.indices {
            let result = TaskMerge.merge(
                base: machine.base[task], mine: machine.fields[task], theirs: server[task])
            var merged = TaskItem(fields: try #require(result.fields))
            merged.settleDates(on: machine.today(at: time))
            server[task] = merged.documentFields
        }
        (machine.base, machine.fields) = (server, server)
    }

    /// Something happens to a machine that its user does not do to a task.
    private static func disturb(_ machine: inout Machine, at time: Int64, _ random: inout Generator) {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: machine.error += Int64.random(in: -48...48, using: &random) * hour
        case 1: machine.isIdle.toggle()
        case 2: machine.hasDesktop.toggle()
        case 3:
            // The daemon is started again, and knows what it has written down.
            machine.planner = ReminderPlanner(
                since: machine.planner.since, shown: machine.planner.shown, open: machine.planner.open)
        default: break
        }
    }

    @Test("No reminder is shown twice, after it was done, or while it is snoozed; all machines agree")
    func histories() throws {
        var (shown, snoozed, closed) = (0, 0, 0)
        for seed in 0..<40 {
            var random = Generator(state: UInt64(seed))
            var server = try Self.tasks()
            var machines = (0..<Int.random(in: 2...4, using: &random)).map { _ in
                Machine(
                    server, error: Int64.random(in: -2...2, using: &random) * 10_000,
                    offset: Int64.random(in: -11...12, using: &random) * Self.hour)
            }
            var time = Self.start
            func check(_ violations: [String]) { #expect(violations.isEmpty, "seed \(seed): \(violations)") }
            for _ in 0..<240 {
                time += Int64.random(in: 1...90, using: &random) * 60
                let index = machines.indices.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<10, using: &random) {
                case 0...2: Self.act(&machines[index], at: time, &random)
                case 3...4: try Self.exchange(&machines[index], &server, at: time)
                case 5: Self.disturb(&machines[index], at: time, &random)
                default: check(machines[index].plan(at: time))
                }
            }
            for _ in 0..<2 { for index in machines.indices { try Self.exchange(&machines[index], &server, at: time) } }
            #expect(machines.allSatisfy { $0.fields == server }, "seed \(seed)")
            snoozed += server.count { TaskItem(fields: $0).snoozes["alice"] != nil }
            for index in machines.indices {
                let before = machines[index].planner.open.count
                check(machines[index].plan(at: time))
                closed += max(0, before - machines[index].planner.open.count)
                let stale = machines[index].staleNotices(at: time)
                #expect(stale.isEmpty, "seed \(seed): \(stale)")
                shown += machines[index].shownCounts.count
            }
        }
        // The histories have what the laws are about.
        #expect(shown > 100 && snoozed > 5 && closed > 5, "\(shown) \(snoozed) \(closed)")
    }
}
