package import CivilTime

/// One moment of one task at which a notice is due.
package struct ReminderKey: Sendable, Hashable, Comparable {
    package var task: TaskID
    package var reminder: String
    /// The moment as the task says it, in seconds, so that it is the same in all time zones.
    package var time: Int64

    package init(task: TaskID, reminder: String, time: Int64) {
        self.task = task
        self.reminder = reminder
        self.time = time
    }

    package static func < (left: ReminderKey, right: ReminderKey) -> Bool {
        (left.time, left.task, left.reminder) < (right.time, right.task, right.reminder)
    }
}

/// One notice on the desktop: of one reminder, or a summary of several.
package struct ReminderNotice: Sendable, Hashable, Identifiable {
    package let id: Int
    /// The reminders in order of time.
    package let keys: [ReminderKey]

    package init(id: Int, keys: [ReminderKey]) {
        self.id = id
        self.keys = keys
    }
}

/// Decides which reminders are shown as notices on the desktop, which notices are closed, and when
/// to decide again.
///
/// It is a function of the tasks, the time, the time zone, and the notices that it has planned
/// before:
/// - Each moment is shown once on a machine, also if the daemon restarts or the clock is set back.
/// - A moment that no notice could show at its time, because the machine slept or had no desktop, is
///   shown when that is possible. Several of them become one summary.
/// - A notice is closed when its moment is gone, because the task was completed, deleted, moved to
///   another date or snoozed, on whichever machine.
package struct ReminderPlanner: Sendable, Hashable {
    /// The situation in which a plan is made.
    package struct Situation: Sendable {
        /// The seconds since 1970 by this machine's clock.
        package var now: Int64
        package var zone: ZoneOffsets
        /// Returns the zone of a name; nil if the machine does not have it.
        package var zones: @Sendable (String) -> ZoneOffsets?
        /// The user whose snoozes count.
        package var user: UserID
        /// Whether the desktop can show notices.
        package var canShow: Bool
        /// Whether the user is away from this machine, so that another machine may show a notice
        /// first.
        package var isIdle: Bool

        package init(
            now: Int64, zone: ZoneOffsets, zones: @escaping @Sendable (String) -> ZoneOffsets? = { _ in nil },
            user: UserID, canShow: Bool, isIdle: Bool = false
        ) {
            (self.now, self.zone, self.zones, self.user) = (now, zone, zones, user)
            (self.canShow, self.isIdle) = (canShow, isIdle)
        }
    }

    /// The notices to show and to close now.
    package struct Plan: Sendable, Hashable {
        package var show: [ReminderNotice] = []
        package var close: [ReminderNotice] = []
        /// The number of reminders that are due and wait for a desktop.
        package var waitingCount = 0
        /// The time of the next plan in seconds since 1970; nil if none is needed before something
        /// changes.
        package var wakeAt: Int64?
    }

    /// A reminder with the point in time at which it is due.
    package struct DueReminder: Sendable, Hashable {
        package var key: ReminderKey
        /// Seconds since 1970.
        package var instant: Int64
        package var note: String?
        /// Whether this machine has shown it.
        package var isShown = false
    }

    /// The number of notices that are shown at once without a summary.
    private static let separateLimit = 3
    /// The delay from which a reminder counts as missed.
    private static let missedAfter: Int64 = 120
    /// The delay from which even a single missed reminder is shown in a summary.
    private static let longAgo: Int64 = 12 * 3600
    /// The time for which an idle machine waits for another one to be used.
    private static let idleDelay: Int64 = 60
    /// The time for which a moment that could not be shown is kept.
    private static let keptFor: Int64 = 7 * 86_400
    /// The largest difference between a local time and UTC.
    private static let zoneLimit: Int64 = 2 * 86_400

    /// Moments before this time are never shown, in seconds since 1970.
    package private(set) var since: Int64
    /// The moments that were shown.
    package private(set) var shown: Set<ReminderKey>
    /// The notices that are on the desktop.
    package private(set) var open: [ReminderNotice]
    private var nextID: Int

    /// Creates a planner that shows no moment before a time.
    package init(since: Int64, shown: Set<ReminderKey> = [], open: [ReminderNotice] = []) {
        self.since = since
        self.shown = shown
        self.open = open
        nextID = (open.map(\.id).max() ?? 0) &+ 1
    }

    /// Makes a plan, and takes its notices as shown and closed.
    package mutating func plan(_ tasks: [TaskID: TaskReminders], in situation: Situation) -> Plan {
        let now = situation.now
        since = min(max(since, now.saturating(adding: -Self.keptFor)), now)
        shown = shown.filter { $0.time >= since.saturating(adding: -Self.zoneLimit) }
        let reminders = reminders(of: tasks, in: situation)
        var plan = Plan()
        let live = Set(reminders.map(\.key))
        plan.close = open.filter { $0.keys.allSatisfy { !live.contains($0) } }
        open.removeAll { notice in plan.close.contains(notice) }
        let delay = situation.isIdle ? Self.idleDelay : 0
        var due: [DueReminder] = []
        for reminder in reminders where !reminder.isShown {
            let time = reminder.instant.saturating(adding: delay)
            if time <= now {
                due.append(reminder)
            } else {
                plan.wakeAt = min(plan.wakeAt ?? time, time)
            }
        }
        guard situation.canShow else {
            plan.waitingCount = due.count
            return plan
        }
        plan.show = notices(of: due.sorted { ($0.instant, $0.key) < ($1.instant, $1.key) }, now: now)
        shown.formUnion(due.map(\.key))
        open += plan.show
        return plan
    }

    /// Returns the reminders of tasks from `since` on, with their points in time.
    package func reminders(of tasks: [TaskID: TaskReminders], in situation: Situation) -> [DueReminder] {
        tasks.flatMap { task, reminders in
            let start = max(since, reminders.created ?? since)
            let zone = reminders.zone.flatMap(situation.zones) ?? situation.zone
            let found = reminders.moments.compactMap {
                reminder(task, $0.reminder, $0.time, $0.note, from: start, zone)
            }
            guard let snooze = reminders.snoozes[situation.user.rawValue] else { return found }
            let end = reminder(
                task, TaskReminders.snoozeReminder, .instant(snooze), nil, from: start, zone)
            return found.filter { $0.instant > snooze } + [end].compactMap(\.self)
        }
    }

    /// Returns a moment with its point in time; nil if that is before `start`.
    private func reminder(
        _ task: TaskID, _ reminder: String, _ time: TaskReminders.Time, _ note: String?, from start: Int64,
        _ zone: ZoneOffsets
    ) -> DueReminder? {
        let instant: Int64 =
            switch time {
            case .instant(let seconds): seconds
            case .wall(let seconds): zone.instant(ofLocal: seconds)
            }
        guard instant >= start else { return nil }
        let key = ReminderKey(task: task, reminder: reminder, time: time.value)
        return DueReminder(key: key, instant: instant, note: note, isShown: shown.contains(key))
    }

    /// Whether a notice still stands for a reminder of a task, so that an action on it is not one on
    /// an occurrence that was completed elsewhere.
    package func isCurrent(_ key: ReminderKey, in tasks: [TaskID: TaskReminders], _ situation: Situation) -> Bool {
        guard let task = tasks[key.task] else { return false }
        return reminders(of: [key.task: task], in: situation).contains { $0.key == key }
    }

    /// Notes that a notice is no longer on the desktop. Its reminders are not shown again.
    package mutating func forget(_ notice: Int) { open.removeAll { $0.id == notice } }

    /// Notes that a notice could not be shown. Its reminders are shown later.
    package mutating func takeBack(_ notice: Int) {
        for lost in open where lost.id == notice { shown.subtract(lost.keys) }
        forget(notice)
    }

    /// Returns one notice for each reminder, or one for all of them if there are many, or if some
    /// were missed.
    private mutating func notices(of due: [DueReminder], now: Int64) -> [ReminderNotice] {
        guard let first = due.first else { return [] }
        let delay = now.saturating(adding: -first.instant)
        let isSummary =
            due.count > Self.separateLimit || due.count > 1 && delay > Self.missedAfter || delay > Self.longAgo
        let groups = isSummary ? [due.map(\.key)] : due.map { [$0.key] }
        return groups.map { keys in
            defer { nextID &+= 1 }
            return ReminderNotice(id: nextID, keys: keys)
        }
    }
}
