public import DocumentModel

/// The outcome of one occurrence of a recurring task.
public struct TaskInstance: Sendable, Hashable, Comparable {
    /// The kinds of outcome.
    public enum State: String, Sendable, Hashable {
        case done
        case skipped
    }

    /// Whether the occurrence was completed or skipped.
    public var state: State
    /// The day of the completion, if the next occurrence depends on it and it is not the day of the
    /// occurrence.
    public var day: CivilDate?

    /// Creates an outcome.
    public init(_ state: State, on day: CivilDate? = nil) {
        self.state = state
        self.day = day
    }

    /// Creates an outcome from an element of a document's `instances`; nil if `value` is not one.
    public init?(_ value: Value) {
        guard let map = value.mapValue, let state = map["state"]?.stringValue.flatMap(State.init) else { return nil }
        self.init(state, on: map["day"]?.stringValue.flatMap { CivilDate($0) })
    }

    /// The outcome as an element of a document's `instances`.
    public var value: Value {
        var map: [String: Value] = ["state": .string(state.rawValue)]
        map["day"] = day.map { .string($0.description) }
        return .map(map)
    }

    /// Orders the outcomes that a file may give one occurrence: the greater one counts. Completed
    /// counts more than skipped, and an earlier day of completion more than a later one.
    public static func < (left: TaskInstance, right: TaskInstance) -> Bool {
        guard left.state == right.state else { return left.state == .skipped }
        guard let day = right.day else { return left.day != nil }
        return left.day.map { day < $0 } ?? false
    }

    /// Parses an entry of a list in front matter: `2026-11-28`, or `2026-11-28/2026-11-30` with the
    /// day of completion; nil for any other text.
    static func parse(_ text: String, _ state: State) -> (CivilDate, TaskInstance)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first.flatMap({ CivilDate(String($0)) }), parts.count <= 2 else { return nil }
        guard parts.count == 2 else { return (first, TaskInstance(state)) }
        guard state == .done, let day = CivilDate(String(parts[1])), day != first else { return nil }
        return (first, TaskInstance(state, on: day))
    }

    /// Returns the entry for the occurrence of a day.
    func entry(of occurrence: CivilDate) -> String { day.map { "\(occurrence)/\($0)" } ?? occurrence.description }
}
