import CivilTime
import DocumentModel
package import Recurrence

/// The recurrence of a task, from the fields that TaskNotes and Ferry write: `recurrence`,
/// `recurrence_anchor` and `catch-up`.
package struct TaskSeries: Sendable, Hashable {
    /// The day from which the next occurrence is computed.
    package enum Anchor: String, Sendable, Hashable {
        /// The days of the rule, whenever occurrences are completed.
        case scheduled
        /// The day on which the last occurrence was completed.
        case completion
    }

    package static let ruleKey = "recurrence"
    package static let anchorKey = "recurrence_anchor"
    package static let catchUpKey = "catch-up"
    package static let zoneKey = "tzid"
    package static let scheduledKey = "scheduled"
    package static let checklistKey = "checklist"
    package static let keys = [ruleKey, anchorKey, catchUpKey]

    package var rule: RecurrenceRule
    /// The start of the rule; nil if it does not say one, so that the current date is it.
    package var start: RecurrenceMoment?
    package var anchor: Anchor
    /// Whether each missed occurrence has to be completed or skipped. Otherwise a completion also
    /// settles the occurrences that have passed by the day of the completion.
    package var repeatsEach: Bool

    /// Creates a series without a start.
    package init(_ rule: RecurrenceRule, anchor: Anchor) {
        self.rule = rule
        self.anchor = anchor
        repeatsEach = false
    }

    /// Reads a rule with or without a start: `FREQ=DAILY`, `DTSTART:20250804;FREQ=DAILY`, or lines
    /// `DTSTART…` and `RRULE:…`.
    package init(parsing text: String, anchor: Anchor = .scheduled, repeatsEach: Bool = false)
        throws(RecurrenceProblem)
    {
        var rest = text.uppercased().split { $0 == "\n" || $0 == "\r\n" || $0 == " " }.joined(separator: ";")[...]
        if rest.hasPrefix("DTSTART") {
            guard let colon = rest.firstIndex(of: ":") else { throw RecurrenceProblem.startMissing }
            let end = rest[colon...].firstIndex(of: ";") ?? rest.endIndex
            guard let start = RecurrenceMoment(basic: rest[rest.index(after: colon)..<end]) else {
                throw RecurrenceProblem.startMissing
            }
            self.start = start
            rest = rest[end...].drop { $0 == ";" }
        }
        if rest.hasPrefix("RRULE:") { rest = rest.dropFirst(6) }
        rule = try RecurrenceRule(parsing: rest)
        self.anchor = anchor
        self.repeatsEach = repeatsEach
    }

    /// Returns the first day after `day` on which the task is due again and that is not handled;
    /// nil if the series is over.
    ///
    /// - Parameters:
    ///   - date: The date of the current occurrence, from which a rule without a start counts.
    ///   - done: The number of completed occurrences.
    func next(
        after day: CalendarDay, date: CalendarDay, done: Int, isHandled: (CalendarDay) -> Bool
    ) -> CalendarDay? {
        guard anchor == .completion else {
            var days = RecurrenceDays(rule, from: start?.day ?? date)
            days.skip(before: day)
            while let next = days.next() { if next > day, !isHandled(next) { return next } }
            return nil
        }
        if let count = rule.count, done >= count { return nil }
        var rule = rule
        rule.count = nil
        if let next = rule.clampedStep(from: day) {
            return rule.until.map { next > $0.day } ?? false ? nil : next
        }
        var days = RecurrenceDays(rule, from: day)
        while let next = days.next() { if next > day, !isHandled(next) { return next } }
        return nil
    }
}

extension TaskItem {
    /// The name of the time zone in which times without an offset are; nil for the reader's.
    package var zoneName: String? { fields[TaskSeries.zoneKey].flatMap(CustomValue.scalarText) }

    /// The recurrence; nil if the task has none, or one that is not understood.
    package var series: TaskSeries? {
        guard let text = fields[TaskSeries.ruleKey].flatMap(CustomValue.scalarText) else { return nil }
        let anchor = fields[TaskSeries.anchorKey].flatMap(CustomValue.scalarText).flatMap(TaskSeries.Anchor.init)
        let catchUp = fields[TaskSeries.catchUpKey].flatMap(CustomValue.scalarText)
        return try? TaskSeries(parsing: text, anchor: anchor ?? .scheduled, repeatsEach: catchUp == "each")
    }

    /// The day of the occurrence that is to be completed next; nil if the task does not recur, has
    /// no date, or its series is over.
    package var occurrence: CivilDate? {
        guard let series, let date, !isSettled(date.date, in: series) else { return nil }
        return date.date
    }

    /// The day of the date that the rule moves, whether its occurrence is settled or not; nil if the
    /// task has no date.
    package var currentDate: CivilDate? { date?.date }

    /// Whether the task is completed because its series has no further occurrence.
    private var isSeriesOver: Bool { completed && series != nil && date != nil && occurrence == nil }

    /// Completes or skips the current occurrence and moves the dates to the next one. Does nothing
    /// if there is no current occurrence.
    ///
    /// - Parameter today: The day of the user's action.
    package mutating func settleOccurrence(as state: TaskInstance.State, on today: CivilDate) {
        guard let series, let occurrence else { return }
        var instance = TaskInstance(state)
        if state == .done, today != occurrence,
            series.anchor == .completion || !series.repeatsEach && occurrence < today
        {
            instance.day = today
        }
        instances[occurrence] = instance
        // From here on the rule counts from its first date, not from that of the current occurrence.
        if series.start == nil, let text = fields[TaskSeries.ruleKey].flatMap(CustomValue.scalarText) {
            let start = RecurrenceMoment(occurrence.calendarDay).basic
            fields[TaskSeries.ruleKey] = .string("DTSTART:\(start);\(text)")
        }
        completed = false
        resetChecklist()
        settleDates(on: today)
    }

    /// Takes back the last completed occurrence, which becomes the current one. Does nothing if
    /// there is none.
    package mutating func reopenLastOccurrence() {
        guard series != nil, let last = instances.filter({ $0.value.state == .done }).keys.max() else { return }
        instances[last] = nil
        completed = false
        if let date { move(date, to: last) }
    }

    /// Brings the dates and the completion of a recurring task into agreement with the occurrences
    /// that were completed or skipped. The result depends only on the task, but for the day of a
    /// completion that it records.
    ///
    /// - `completed`, which editors and other apps set, completes the current occurrence.
    /// - A date whose occurrence is settled moves to the next occurrence.
    /// - A series without another occurrence is completed.
    ///
    /// A date that was moved by hand stays until its occurrence is settled.
    ///
    /// - Parameter before: The task before a change. If it was completed, `completed` is left over
    ///   from that: it completes no occurrence that the change has added, and no date that it has
    ///   set by hand.
    package mutating func settleDates(on today: CivilDate, after before: TaskItem? = nil) {
        if let before { settleOccurrence(completedIn: before, on: today) }
        guard let series else { return }
        if date == nil, let start = series.start {
            var days = RecurrenceDays(series.rule, from: start.day)
            if let first = days.next() { due = Due(CivilDate(first)) }
        }
        guard let date else { return }
        if completed, occurrence != nil { return settleOccurrence(as: .done, on: today) }
        guard isSettled(date.date, in: series) else { return }
        let settled = Set(instances.keys.map(\.calendarDay))
        let last = series.repeatsEach && series.anchor == .scheduled ? nil : lastSettledDay(in: series)
        let floor =
            series.anchor == .completion ? last ?? date.date : last.map { max($0, date.date) } ?? date.date
        let next = series.next(
            after: floor.calendarDay, date: date.date.calendarDay,
            done: instances.values.count { $0.state == .done }, isHandled: settled.contains)
        guard let next else {
            completed = true
            return
        }
        completed = false
        move(date, to: CivilDate(next))
    }

    /// Completes the occurrence that was completed before a change, while `completed` and its date
    /// were still to be brought into agreement. The date that the change has set stays.
    private mutating func settleOccurrence(completedIn before: TaskItem, on today: CivilDate) {
        guard completed, before.completed, series != nil else { return }
        if before.isSeriesOver { return completed = false }
        guard let date, let former = before.occurrence, former != date.date else { return }
        let (due, scheduled) = (anyDue, fields[TaskSeries.scheduledKey])
        move(date, to: former)
        settleOccurrence(as: .done, on: today)
        setDue(due)
        fields[TaskSeries.scheduledKey] = scheduled
        completed = false
    }

    /// Sets or ends the recurrence. A task without a date becomes due on the first day of the rule,
    /// from `today` on.
    package mutating func setRecurrence(_ series: TaskSeries?, from today: CivilDate) {
        guard let series else {
            for key in TaskSeries.keys { fields[key] = nil }
            return
        }
        fields[TaskSeries.ruleKey] = .string(series.rule.description)
        fields[TaskSeries.anchorKey] = series.anchor == .scheduled ? nil : .string(series.anchor.rawValue)
        guard date == nil else { return }
        var days = RecurrenceDays(series.rule, from: today.calendarDay)
        if let first = days.next() { due = Due(CivilDate(first)) }
    }

    // MARK: Parts

    /// Reopens the items of the checklist if the task says so with `checklist: reset`.
    private mutating func resetChecklist() {
        guard fields[TaskSeries.checklistKey].flatMap(CustomValue.scalarText) == "reset" else { return }
        var checklist = Checklist(notes)
        guard checklist.doneCount > 0, checklist.mark(1...checklist.items.count, isDone: false) else { return }
        notes = checklist.notes
    }

    /// The date that the rule moves: `scheduled` if the task has one, otherwise `due`.
    var date: (date: CivilDate, isScheduled: Bool)? {
        if let text = fields[TaskSeries.scheduledKey].flatMap(CustomValue.scalarText), let parts = TimeText(text) {
            return (parts.date, true)
        }
        return anyDue.flatMap { TimeText($0.text) }.map { ($0.date, false) }
    }

    /// Whether the occurrence of a date was completed, skipped or passed by a later completion.
    private func isSettled(_ date: CivilDate, in series: TaskSeries) -> Bool {
        if instances[date] != nil { return true }
        guard !series.repeatsEach, series.anchor == .scheduled else { return false }
        return lastSettledDay(in: series).map { date <= $0 } ?? false
    }

    /// The last day that completions settle; with completion as the anchor, the day from which the
    /// next occurrence is computed.
    private func lastSettledDay(in series: TaskSeries) -> CivilDate? {
        instances.compactMap { day, instance in
            switch instance.state {
            case .done: series.anchor == .completion ? instance.day ?? day : max(day, instance.day ?? day)
            case .skipped: series.anchor == .completion ? day : nil
            }
        }.max()
    }

    mutating func move(_ old: (date: CivilDate, isScheduled: Bool), to new: CivilDate) {
        let days = new.daysSinceEpoch - old.date.daysSinceEpoch
        if let text = anyDue?.text, let moved = moved(text, by: days).flatMap({ Due(parsing: $0) }) {
            setDue(moved)
        }
        if old.isScheduled, let text = fields[TaskSeries.scheduledKey].flatMap(CustomValue.scalarText),
            let moved = moved(text, by: days)
        {
            fields[TaskSeries.scheduledKey] = .string(moved)
        }
    }

    /// Returns a written date or time a number of days later, with the same time of day.
    ///
    /// The offset stays, too, except in a task with a zone: there the offset of another day may be a
    /// different one, and the zone says which.
    private func moved(_ text: String, by days: Int) -> String? {
        guard let date = TimeText(text)?.date else { return nil }
        let time = text.dropFirst(10)
        let kept = zoneName == nil ? time : time.prefix(1) + time.dropFirst().prefix { !"+- ".contains($0) }
        return date.calendarDay.adding(days: days).description + kept
    }
}
