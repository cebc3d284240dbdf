import DocumentModel

/// The moments at which an open task reminds its users, independent of clocks and time zones.
package struct TaskReminders: Sendable, Hashable {
    /// A moment in seconds since 1970.
    package enum Time: Sendable, Hashable {
        /// A point in time.
        case instant(Int64)
        /// A time that clocks on the wall show in the reader's time zone, as if that were UTC.
        case wall(Int64)
    }

    /// One reminder with its moment.
    package struct Moment: Sendable, Hashable {
        package var reminder: String
        package var time: Time
        /// The text that the user wants to see; nil for none.
        package var note: String?
    }

    package var moments: [Moment]
    /// The name of the time zone of times on the wall; nil for the reader's.
    package var zone: String?
    /// The times until which users have snoozed the task, in seconds since 1970.
    package var snoozes: [String: Int64]
    /// The time at which the server created the task; nil if it has not yet. Earlier moments, such
    /// as those of old tasks that were imported, do not count.
    package var created: Int64?

    /// The identifier of the reminder of a task with a time of day and no reminders of its own.
    package static let defaultReminder = "due"
    /// The identifier of the moment at which a snooze ends.
    package static let snoozeReminder = "snooze"
    /// The time of day that a day without one has, in seconds after midnight.
    package static let timeOfDays: Int64 = 9 * 3600

    /// Returns the moments of a task; nil if it is completed or in the trash, or has no reminders.
    package init?(_ item: TaskItem, in reading: TaskReading = TaskReading()) {
        guard !item.isCompleted(in: reading.vocabulary), !item.isDeleted else { return nil }
        let due = item.anyDue
        if let reminders = item.reminders {
            let written = item.fields[TaskSeries.scheduledKey].flatMap(CustomValue.scalarText)
            let scheduled = written.flatMap { Due(parsing: $0) }
            moments = reminders.prefix(Reminder.limit).compactMap { reminder in
                switch reminder.time {
                case .absolute(let time): Moment(reminder: reminder.id, time: Time(time), note: reminder.note)
                case .relative(let anchor, let seconds):
                    (anchor == .due ? due : scheduled).map {
                        Moment(reminder: reminder.id, time: Time($0).adding(seconds), note: reminder.note)
                    }
                }
            }
        } else if let due, due.hasTime {
            moments = [Moment(reminder: Self.defaultReminder, time: Time(due))]
        } else if let due, let time = reading.dayReminder {
            moments = [
                Moment(reminder: Self.defaultReminder, time: .wall(due.timestamp.seconds.saturating(adding: time)))
            ]
        } else {
            moments = []
        }
        zone = item.zoneName
        snoozes = [:]
        created = item.createdTime?.seconds
        if !item.snoozes.isEmpty {
            let dates = item.reminderDates
            snoozes = item.snoozes.filter { $0.value.dates == dates }.mapValues(\.until.seconds)
        }
        if moments.isEmpty, snoozes.isEmpty { return nil }
    }
}

extension TaskReminders.Time {
    /// Creates the moment of a date or time; of a date, the time of day that days without one have.
    init(_ time: Due) {
        self =
            switch time.kind {
            case .date: .wall(time.timestamp.seconds.saturating(adding: TaskReminders.timeOfDays))
            case .localTime: .wall(time.timestamp.seconds)
            case .instant: .instant(time.timestamp.seconds)
            }
    }

    func adding(_ seconds: Int64) -> Self {
        switch self {
        case .instant(let time): .instant(time.saturating(adding: seconds))
        case .wall(let time): .wall(time.saturating(adding: seconds))
        }
    }

    /// The seconds, without regard to their kind.
    package var value: Int64 {
        switch self {
        case .instant(let seconds), .wall(let seconds): seconds
        }
    }
}

extension Int64 {
    /// The sum, or the nearest value if it is out of range.
    package func saturating(adding other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other < 0 ? .min : .max) : sum
    }
}
