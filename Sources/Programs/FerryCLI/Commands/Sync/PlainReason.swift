import Control

/// The reason for a state in one plain sentence, and what libraries said about it.
enum PlainReason {
    /// Splits `The server cannot be reached: UNAVAILABLE: …` behind the sentence. The cause is nil if
    /// the text has none.
    static func split(_ text: String) -> (sentence: String, cause: String?) {
        guard let colon = text.firstRange(of: ": ") else { return (text, nil) }
        return (text[..<colon.lowerBound] + ".", String(text[colon.upperBound...]))
    }
}

extension DaemonStatus {
    /// The reason without what libraries said about it, which `cause` has.
    var plainReason: String? { state == .offline ? reason.map { PlainReason.split($0).sentence } : reason }

    /// The messages of libraries about the reason; nil if there are none.
    var cause: String? { state == .offline ? reason.flatMap { PlainReason.split($0).cause } : nil }
}
