import Cryptography
import SystemIO

/// The id of a transfer: 16 hexadecimal digits. It is the same after a restart.
public struct TransferID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Creates an id from text; nil unless the text is 16 hexadecimal digits.
    public init?(_ text: String) {
        guard text.utf8.count == 16, Hex.decode(text) != nil else { return nil }
        self.text = text
    }

    /// Creates an id of 64 random bits.
    init(randomBy environment: Environment) {
        let bits = environment.random()
        text = Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) })
    }

    /// The id as text.
    public var description: String { text }
}
