public import DocumentModel

/// The time at which a task is due: a date, an instant, or a local time of day without a time zone.
///
/// A `Due` keeps the text in which it was written. This text is synchronized, and equality compares
/// it. Nothing depends on the machine's clock or time zone.
///
/// In a document, `due` is the instant and `dueHasTime` says whether it has a time of day. A date
/// is stored as midnight UTC of that date, and a time without an offset as if it were UTC. Text
/// that these two fields cannot represent (an offset other than UTC, a time without an offset, an
/// unusual spelling) is stored additionally as `fields.due`. That text is used only if it still
/// agrees with `due` and `dueHasTime`, so that an app that does not know it can change them.
public struct Due: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of due time.
    public enum Kind: Sendable, Hashable {
        /// A day, in the reader's time zone.
        case date
        /// A wall-clock time without an offset.
        case localTime
        /// A point in time, written with an offset.
        case instant
    }

    /// The text as it was written. Equality compares it.
    public let text: String
    /// The kind of due time.
    public let kind: Kind
    /// The time stored in documents.
    public let timestamp: Timestamp

    /// Whether there is a time of day.
    public var hasTime: Bool { kind != .date }

    /// Creates a due time from text such as `2026-11-30`, `2026-11-30T17:00` or `2026-11-30
    /// 17:00:30+01:00`; nil for any other text.
    public init?(parsing text: String) {
        guard let parts = TimeText(text), let timestamp = parts.timestamp else { return nil }
        self.text = text
        self.timestamp = timestamp
        kind = parts.time == nil ? .date : parts.offset == nil ? .localTime : .instant
    }

    /// Creates a due date.
    public init(_ date: CivilDate) {
        text = date.description
        kind = .date
        timestamp = Timestamp(microseconds: Int64(date.daysSinceEpoch) * 86_400_000_000)
    }

    /// Creates a due time from the fields of a document: the date in UTC without a time of day,
    /// otherwise the time in UTC. A time outside the valid range is moved to the nearest valid one.
    public init(timestamp: Timestamp, hasTime: Bool) {
        let text = timestamp.text(withSeconds: false)
        // Parsing always succeeds, because the text represents a valid time.
        self = Due(parsing: hasTime ? text : String(text.prefix(10))) ?? Due(unchecked: text, timestamp)
    }

    private init(unchecked text: String, _ timestamp: Timestamp) {
        self.text = text
        self.timestamp = timestamp
        kind = .instant
    }

    /// The text as it was written.
    public var description: String { text }

    /// Whether `due` and `dueHasTime` of a document suffice to reproduce the text.
    var isCanonical: Bool { Due(timestamp: timestamp, hasTime: hasTime).text.utf8.elementsEqual(text.utf8) }
}
