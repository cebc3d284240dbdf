/// The importance of a task. The raw values are those in documents; a task without priority has
/// none.
public enum Priority: Int64, Sendable, Hashable, CaseIterable, Comparable {
    case high = 0
    case medium = 1
    case low = 2

    /// Creates a priority from `high`, `medium` or `low`, in any case.
    public init?(word: String) {
        switch word.lowercased() {
        case "high": self = .high
        case "medium": self = .medium
        case "low": self = .low
        default: return nil
        }
    }

    /// The word used in task files.
    public var word: String {
        switch self {
        case .high: "high"
        case .medium: "medium"
        case .low: "low"
        }
    }

    /// Orders priorities from high to low: the more important one is smaller.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
