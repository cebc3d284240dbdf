import Cryptography

/// Names a transfer, also across restarts: 16 hexadecimal digits.
public struct TransferID: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    /// Nil unless the text can be such an id.
    public init?(_ text: String) {
        guard text.utf8.count == 16, Hex.decode(text) != nil else { return nil }
        self.text = text
    }

    static func random() -> TransferID { TransferID(made: Hex.encode(RandomBytes.make(8))) }

    private init(made text: String) { self.text = text }

    public var description: String { text }
}
