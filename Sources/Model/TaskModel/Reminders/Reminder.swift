import DocumentModel

/// A reminder of a task: one element of `reminders` in the front matter, in the form of TaskNotes.
///
///     reminders:
///       - id: due-PT30M
///         type: relative
///         relatedTo: due
///         offset: -PT30M
///       - id: at-2026-11-30T17:00
///         type: absolute
///         absoluteTime: 2026-11-30T17:00
///         description: Leave now
package struct Reminder: Sendable, Hashable {
    /// The dates to which a reminder can be relative.
    package enum Anchor: String, Sendable, Hashable {
        case due
        case scheduled
    }

    /// The time of a reminder.
    package enum Time: Sendable, Hashable {
        /// A number of seconds after a date; negative for earlier times.
        case relative(Anchor, seconds: Int64)
        /// A fixed date or time.
        case absolute(Due)
    }

    /// The identifier, which merges use to recognize the reminder.
    package var id: String
    package var time: Time
    /// The text that the user wants to see; nil for none.
    package var note: String?

    /// Whether its time depends on the due date.
    package var needsDue: Bool {
        if case .relative(.due, _) = time { true } else { false }
    }

    package static let key = "reminders"
    /// The maximum number of reminders of a task. Further ones are kept in the file and ignored.
    package static let limit = 20

    /// Creates a reminder with an identifier that two machines derive alike.
    package init(_ time: Time, note: String? = nil) {
        self.time = time
        self.note = note
        id =
            switch time {
            case .relative(let anchor, let seconds): "\(anchor.rawValue)\(ReminderOffset.text(seconds))"
            case .absolute(let time): "at-\(time.text)"
            }
    }

    /// Creates a reminder from an element of the list; nil if it is not one that is understood.
    init?(_ value: Value) {
        guard let map = value.mapValue else { return nil }
        func text(_ key: String) -> String? { map[key]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
        if let offset = text("offset"), text("type") != "absolute" {
            guard let seconds = ReminderOffset.seconds(offset),
                let anchor = Anchor(rawValue: text("relatedTo") ?? Anchor.due.rawValue)
            else { return nil }
            self.init(.relative(anchor, seconds: seconds), note: text("description"))
        } else {
            guard let time = text("absoluteTime").flatMap({ Due(parsing: $0) }) else { return nil }
            self.init(.absolute(time), note: text("description"))
        }
        if let id = text("id") { self.id = id }
    }

    /// The reminder as an element of the list.
    var value: Value {
        var map: [String: Value] = ["id": .string(id)]
        switch time {
        case .relative(let anchor, let seconds):
            map["type"] = .string("relative")
            map["relatedTo"] = .string(anchor.rawValue)
            map["offset"] = .string(ReminderOffset.text(seconds))
        case .absolute(let time):
            map["type"] = .string("absolute")
            map["absoluteTime"] = .string(time.text)
        }
        map["description"] = note.map { .string($0) }
        return .map(map)
    }
}

/// The offset of a reminder in the form of ISO 8601, such as `-PT15M` or `P1DT2H`.
package enum ReminderOffset {
    /// The maximum number of digits of each component.
    private static let digitLimit = 6

    /// Returns the seconds of an offset; nil for any other text. Months and years, which have no
    /// fixed length, are not understood.
    package static func seconds(_ text: String) -> Int64? {
        var rest = text.uppercased()[...]
        let sign: Int64 = rest.first == "-" ? -1 : 1
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        guard rest.first == "P" else { return nil }
        rest.removeFirst()
        var units: [(Character, Int64)] = [("W", 604_800), ("D", 86_400)]
        var (sum, count): (Int64, Int) = (0, 0)
        var isClock = false
        while !rest.isEmpty {
            if rest.first == "T" {
                guard !isClock else { return nil }
                isClock = true
                units = [("H", 3600), ("M", 60), ("S", 1)]
                rest.removeFirst()
                continue
            }
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard (1...digitLimit).contains(digits.count), let number = Int64(digits),
                let unit = rest.dropFirst(digits.count).first,
                let place = units.firstIndex(where: { $0.0 == unit })
            else { return nil }
            sum += number * units[place].1
            units.removeSubrange(...place)
            rest = rest.dropFirst(digits.count + 1)
            count += 1
        }
        return count > 0 ? sign * sum : nil
    }

    /// Returns the text of an offset with the largest units that represent it.
    package static func text(_ seconds: Int64) -> String {
        let (sign, left) = (seconds < 0 ? "-" : "", seconds.magnitude)
        if left > 0, left % 604_800 == 0 { return "\(sign)P\(left / 604_800)W" }
        var text = left >= 86_400 ? "\(left / 86_400)D" : ""
        let clock = [(left % 86_400 / 3600, "H"), (left % 3600 / 60, "M"), (left % 60, "S")].filter { $0.0 > 0 }
        if !clock.isEmpty || text.isEmpty { text += "T" }
        text += clock.map { "\($0.0)\($0.1)" }.joined()
        return "\(sign)P\(text)\(clock.isEmpty && left < 86_400 ? "0M" : "")"
    }
}
