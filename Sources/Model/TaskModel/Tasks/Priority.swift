/// How important a task is. The raw values are those of documents; a task without priority has none of them.
public enum Priority: Int64, Sendable, Hashable, CaseIterable, Comparable {
    case high = 0
    case medium = 1
    case low = 2

    /// `high`, `medium` or `low`, in any case of letters.
    public init?(word: String) {
        switch word.lowercased() {
        case "high": self = .high
        case "medium": self = .medium
        case "low": self = .low
        default: return nil
        }
    }

    /// As task files have it.
    public var word: String {
        switch self {
        case .high: "high"
        case .medium: "medium"
        case .low: "low"
        }
    }

    /// The more important one is smaller.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
