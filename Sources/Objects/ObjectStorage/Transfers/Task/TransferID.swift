import Cryptography

/// The id of a transfer: 16 hexadecimal digits. It is the same after a restart.
public struct TransferID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Creates an id from text; nil unless the text is 16 hexadecimal digits.
    public init?(_ text: String) {
        guard text.utf8.count == 16, Hex.decode(text) != nil else { return nil }
        self.text = text
    }

    static func random() -> TransferID { TransferID(made: Hex.encode(RandomBytes.make(8))) }

    private init(made text: String) { self.text = text }

    /// The id as text.
    public var description: String { text }
}
