public import DocumentModel

/// When a task is due: a date, an instant, or a time of day on whatever clock the reader looks at.
///
/// A due keeps the text it was written as, which is what travels and what equality compares. Nothing here depends on the
/// machine's clock or time zone.
///
/// In a document, `due` is the instant and `dueHasTime` tells whether it has a time of day. A date is midnight UTC of that
/// date, and a time without an offset is stored as though it were UTC. Where the text says more than these two fields can
/// (an offset other than UTC, a time without offset, an unusual spelling) it is kept beside them as `fields.due`; it counts
/// only as long as it still means the same as `due` and `dueHasTime`, so that an app which knows nothing of it can change them.
public struct Due: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// A day, in whatever time zone the reader is.
        case date
        /// A wall-clock time without an offset.
        case localTime
        /// A point in time, written with an offset.
        case instant
    }

    /// As it was written; equality compares this.
    public let text: String
    public let kind: Kind
    /// What documents store.
    public let timestamp: Timestamp

    /// Whether it has a time of day.
    public var hasTime: Bool { kind != .date }

    /// From a date or a date and time, such as `2026-11-30`, `2026-11-30T17:00` or `2026-11-30 17:00:30+01:00`; nil for any
    /// other text.
    public init?(parsing text: String) {
        guard let parts = TimeText(text), let timestamp = parts.timestamp else { return nil }
        self.text = text
        self.timestamp = timestamp
        kind = parts.time == nil ? .date : parts.offset == nil ? .localTime : .instant
    }

    /// Due on a day.
    public init(_ date: CivilDate) {
        text = date.description
        kind = .date
        timestamp = Timestamp(microseconds: Int64(date.daysSinceEpoch) * 86_400_000_000)
    }

    /// As documents store it. Without a time it is the date in UTC, with one it is written in UTC. A time outside the valid
    /// range is moved to its nearest end.
    public init(timestamp: Timestamp, hasTime: Bool) {
        let text = timestamp.text(withSeconds: false)
        // Always well-formed: the text comes from a time within the range.
        self = Due(parsing: hasTime ? text : String(text.prefix(10))) ?? Due(unchecked: text, timestamp)
    }

    private init(unchecked text: String, _ timestamp: Timestamp) {
        self.text = text
        self.timestamp = timestamp
        kind = .instant
    }

    public var description: String { text }

    /// Whether `due` and `dueHasTime` of a document alone give this text back.
    var isCanonical: Bool { Due(timestamp: timestamp, hasTime: hasTime).text.utf8.elementsEqual(text.utf8) }
}
