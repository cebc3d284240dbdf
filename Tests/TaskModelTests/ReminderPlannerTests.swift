import CivilTime
import Testing

@testable import TaskModel

@Suite("The plan of notices")
struct ReminderPlannerTests {
    private static let start: Int64 = 1_795_000_000

    private func situation(
        _ now: Int64, zone: ZoneOffsets = .utc, canShow: Bool = true, isIdle: Bool = false
    ) -> ReminderPlanner.Situation {
        .init(now: Self.start + now, zone: zone, user: UserID("me"), canShow: canShow, isIdle: isIdle)
    }

    private func task(at times: Int64..., snooze: Int64? = nil, created: Int64? = nil) throws -> TaskReminders {
        var task = try #require(
            TaskReminders(TaskItem(title: "x", due: Due(parsing: "2026-11-30T17:00"))))
        task.moments = times.map { .init(reminder: "r\($0)", time: .instant(Self.start + $0)) }
        task.snoozes = snooze.map { ["me": Self.start + $0] } ?? [:]
        task.created = created.map { Self.start + $0 }
        return task
    }

    private func planner() -> ReminderPlanner { ReminderPlanner(since: Self.start) }

    @Test("A reminder is shown at its time, once, and the next wake is that of the next one")
    func once() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10), "b": try task(at: 30)]
        var plan = planner.plan(tasks, in: situation(0))
        #expect(plan.show.isEmpty && plan.wakeAt == Self.start + 10)
        plan = planner.plan(tasks, in: situation(10))
        #expect(plan.show.map { $0.keys.map(\.task) } == [["a"]] && plan.wakeAt == Self.start + 30)
        plan = planner.plan(tasks, in: situation(11))
        #expect(plan.show.isEmpty && plan.wakeAt == Self.start + 30)
        plan = planner.plan(tasks, in: situation(31))
        #expect(plan.show.map { $0.keys.map(\.task) } == [["b"]] && plan.wakeAt == nil)
    }

    @Test("A restart shows nothing twice, and what was missed meanwhile once")
    func restarts() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10), "b": try task(at: 30)]
        _ = planner.plan(tasks, in: situation(15))
        var next = ReminderPlanner(since: planner.since, shown: planner.shown, open: planner.open)
        let plan = next.plan(tasks, in: situation(40))
        #expect(plan.show.map { $0.keys.map(\.task) } == [["b"]])
        #expect(Set(next.open.map(\.id)).count == 2)
    }

    @Test("After a suspend, several missed reminders are one summary in order of time")
    func suspends() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = [
            "a": try task(at: 3600), "b": try task(at: 1800), "c": try task(at: 90_000),
        ]
        _ = planner.plan(tasks, in: situation(0))
        let plan = planner.plan(tasks, in: situation(7200))
        #expect(plan.show.map { $0.keys.map(\.task) } == [["b", "a"]])
        #expect(plan.wakeAt == Self.start + 90_000)
    }

    @Test("A few at one time are separate, many are one summary")
    func many() throws {
        var (few, many) = (planner(), planner())
        let three = Dictionary(uniqueKeysWithValues: try (0..<3).map { (TaskID("t\($0)"), try task(at: 10)) })
        let ten = Dictionary(uniqueKeysWithValues: try (0..<10).map { (TaskID("t\($0)"), try task(at: 10)) })
        #expect(few.plan(three, in: situation(10)).show.count == 3)
        let summary = many.plan(ten, in: situation(10)).show
        #expect(summary.count == 1 && summary.first?.keys.count == 10)
    }

    @Test("Without a desktop reminders wait, without waking, and become one summary when it comes")
    func waits() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10), "b": try task(at: 500)]
        #expect(planner.plan(tasks, in: situation(20, canShow: false)).wakeAt == Self.start + 500)
        let waiting = planner.plan(tasks, in: situation(600, canShow: false))
        #expect(waiting.waitingCount == 2 && waiting.show.isEmpty && waiting.wakeAt == nil)
        #expect(planner.plan(tasks, in: situation(900)).show.map { $0.keys.count } == [2])
    }

    @Test("A notice that could not be shown is shown later")
    func takesBack() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10), "b": try task(at: 10)]
        let plan = planner.plan(tasks, in: situation(10))
        #expect(plan.show.count == 2)
        planner.takeBack(try #require(plan.show.first).id)
        #expect(planner.open.count == 1)
        #expect(planner.plan(tasks, in: situation(12)).show.map(\.keys) == [try #require(plan.show.first).keys])
    }

    @Test("A clock that is set back shows nothing again; one that was wrong does not silence what follows")
    func clocks() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10), "b": try task(at: 4000)]
        #expect(planner.plan(tasks, in: situation(20)).show.count == 1)
        let back = planner.plan(tasks, in: situation(-3600))
        #expect(back.show.isEmpty && back.close.isEmpty && back.wakeAt == Self.start + 4000)
        #expect(planner.plan(tasks, in: situation(15)).show.isEmpty)
        // Ten years ahead, and back: what is due is shown as missed, and later ones as usual.
        #expect(planner.plan([:], in: situation(315_360_000)).show.isEmpty)
        #expect(planner.plan(tasks, in: situation(100)).wakeAt == Self.start + 4000)
        #expect(planner.plan(tasks, in: situation(4000)).show.count == 1)
    }

    @Test("Completing, deleting, moving and snoozing a task closes its notice")
    func closes() throws {
        for after in [nil, try task(at: 9000), try task(at: 10, snooze: 600)] {
            var planner = planner()
            let shown = planner.plan(["a": try task(at: 10), "b": try task(at: 10)], in: situation(10)).show
            var tasks: [TaskID: TaskReminders] = ["b": try task(at: 10)]
            tasks["a"] = after
            let plan = planner.plan(tasks, in: situation(20))
            #expect(plan.show.isEmpty)
            #expect(plan.close == shown.filter { $0.keys.first?.task == "a" })
            #expect(planner.open.count == 1)
        }
    }

    @Test("A summary closes with its last task")
    func closesSummary() throws {
        var planner = planner()
        let tasks = Dictionary(uniqueKeysWithValues: try (0..<5).map { (TaskID("t\($0)"), try task(at: 10)) })
        #expect(planner.plan(tasks, in: situation(10)).show.count == 1)
        #expect(planner.plan(tasks.filter { $0.key == "t1" }, in: situation(20)).close.isEmpty)
        #expect(planner.plan([:], in: situation(30)).close.count == 1)
    }

    @Test("A snoozed task is shown again at the end of the snooze, and silent until then")
    func snoozes() throws {
        var planner = planner()
        #expect(planner.plan(["a": try task(at: 10, 700)], in: situation(10)).show.count == 1)
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10, 300, 700, snooze: 600)]
        #expect(planner.plan(tasks, in: situation(20)).wakeAt == Self.start + 600)
        let plan = planner.plan(tasks, in: situation(600))
        #expect(plan.show.map { $0.keys.map(\.reminder) } == [["snooze"]])
        #expect(plan.wakeAt == Self.start + 700)
        // The snooze of another user of a shared list changes nothing.
        var other = try task(at: 700)
        other.snoozes = ["you": Self.start + 900]
        #expect(planner.plan(["b": other], in: situation(650)).wakeAt == Self.start + 700)
    }

    @Test("An idle machine waits a minute, in which another one may settle the reminder")
    func idles() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10)]
        let waiting = planner.plan(tasks, in: situation(10, isIdle: true))
        #expect(waiting.show.isEmpty && waiting.wakeAt == Self.start + 70)
        var away = planner
        #expect(away.plan([:], in: situation(70, isIdle: true)).show.isEmpty)
        #expect(planner.plan(tasks, in: situation(70, isIdle: true)).show.count == 1)
    }

    @Test("Moments before the first start, before the task was made, and of long ago are not shown")
    func old() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: -5), "b": try task(at: 10, created: 20)]
        #expect(planner.plan(tasks, in: situation(30)) == ReminderPlanner.Plan())
        let ancient: [TaskID: TaskReminders] = ["c": try task(at: 100)]
        #expect(planner.plan(ancient, in: situation(8 * 86_400)).show.isEmpty)
        #expect(planner.shown.isEmpty)
    }

    @Test("A dismissed notice is not shown again, and not closed twice")
    func dismisses() throws {
        var planner = planner()
        let tasks: [TaskID: TaskReminders] = ["a": try task(at: 10)]
        let notice = try #require(planner.plan(tasks, in: situation(10)).show.first)
        planner.forget(notice.id)
        #expect(planner.plan(tasks, in: situation(20)) == ReminderPlanner.Plan())
        #expect(planner.plan([:], in: situation(30)) == ReminderPlanner.Plan())
    }

    @Test("An action on a notice of an occurrence that was completed elsewhere is recognized as late")
    func late() throws {
        var planner = planner()
        let today: [TaskID: TaskReminders] = ["a": try task(at: 10)]
        let tomorrow: [TaskID: TaskReminders] = ["a": try task(at: 86_410)]
        let key = try #require(planner.plan(today, in: situation(10)).show.first?.keys.first)
        #expect(planner.isCurrent(key, in: today, situation(20)))
        #expect(!planner.isCurrent(key, in: tomorrow, situation(20)))
        #expect(!planner.isCurrent(key, in: [:], situation(20)))
    }

    @Test("A task with a zone reminds by the clocks there, wherever the machine is")
    func zoneOfTask() throws {
        var task = try task(at: 0)
        task.moments = [.init(reminder: "due", time: .wall(Self.start + 7200))]
        task.zone = "Europe/Berlin"
        let newYork = ZoneOffsets { _ in -18_000 }
        var there = situation(0, zone: newYork)
        var planner = planner()
        #expect(planner.plan(["a": task], in: there).wakeAt == Self.start + 25_200)
        there.zones = { $0 == "Europe/Berlin" ? ZoneOffsets { _ in 3600 } : nil }
        #expect(planner.plan(["a": task], in: there).wakeAt == Self.start + 3600)
    }

    @Test("A local time follows the time zone of the machine, and is shown once if that changes")
    func zones() throws {
        var planner = planner()
        var task = try task(at: 0)
        task.moments = [.init(reminder: "due", time: .wall(Self.start + 7200))]
        let (berlin, newYork) = (ZoneOffsets { _ in 3600 }, ZoneOffsets { _ in -18_000 })
        #expect(planner.plan(["a": task], in: situation(0, zone: berlin)).wakeAt == Self.start + 3600)
        #expect(planner.plan(["a": task], in: situation(0, zone: newYork)).wakeAt == Self.start + 25_200)
        #expect(planner.plan(["a": task], in: situation(3600, zone: berlin)).show.count == 1)
        #expect(planner.plan(["a": task], in: situation(25_200, zone: newYork)).show.isEmpty)
    }
}
