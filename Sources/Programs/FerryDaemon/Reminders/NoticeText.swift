import CivilTime
import SystemIO
import TaskModel

/// The texts and buttons of a notice.
struct NoticeText: Sendable, Hashable {
    /// One reminder with the task that it is about.
    struct Item: Sendable, Hashable {
        var title: String
        /// The due date or time as written in the task.
        var due: String?
        var list: String?
        var note: String?
    }

    /// Plain text in all versions of the desktop notifications specification.
    let summary: String
    let body: String
    /// The keys and labels of buttons, in order.
    let actions: [(key: String, label: String)]

    static let openAction = "default"
    static let doneAction = "done"
    static let snoozeAction = "snooze"
    /// The time of the snooze button.
    static let snoozeMinutes: Int64 = 10

    private static let lengthLimit = 200
    private static let lineLimit = 8

    /// - Parameters:
    ///   - items: The reminders, at least one.
    ///   - capabilities: What the notification server supports, by the names of the specification.
    init(_ items: [Item], capabilities: Set<String>) {
        let hasMarkup = capabilities.contains("body-markup")
        func line(_ text: String) -> String { hasMarkup ? Self.escaped(text) : text }
        let lines: [String]
        var actions: [(key: String, label: String)] = [(Self.openAction, "Open")]
        if items.count == 1, let item = items.first {
            summary = Self.plain(item.title)
            lines = [item.note.map(Self.plain), Self.dates(of: item)].compactMap { $0 }.filter { !$0.isEmpty }
            actions += [(Self.doneAction, "Done"), (Self.snoozeAction, "Snooze \(Self.snoozeMinutes) min")]
        } else {
            summary = "\(items.count) reminders"
            let shown = items.prefix(Self.lineLimit).map { Self.plain($0.title) }
            lines = shown + (items.count > Self.lineLimit ? ["and \(items.count - Self.lineLimit) more"] : [])
            actions.append((Self.snoozeAction, "Snooze \(Self.snoozeMinutes) min"))
        }
        body = capabilities.contains("body") ? lines.map(line).joined(separator: "\n") : ""
        self.actions = capabilities.contains("actions") ? actions : []
    }

    private static func dates(of item: Item) -> String {
        [item.due.map { "Due \(plain($0).replacing("T", with: " "))" }, item.list.map(plain)]
            .compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// Returns a text from a task, which may come from another person, without control characters
    /// and of limited length.
    static func plain(_ text: String) -> String {
        let visible = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: " "
                    default: scalar
                    }
                }))
        return visible.count > lengthLimit ? visible.prefix(lengthLimit - 1) + "…" : visible
    }

    /// Returns a text in which no character has a meaning as markup.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;").replacing("'", with: "&apos;")
    }

    static func == (left: NoticeText, right: NoticeText) -> Bool {
        left.summary == right.summary && left.body == right.body
            && left.actions.elementsEqual(right.actions) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(summary)
        hasher.combine(body)
    }
}
