/// The bytes of an id: a kind, 8 bytes that say its age (for read-only transactions its read time), 8 random bytes.
extension TransactionID {
    enum Kind: UInt8 {
        case readWrite = 1
        case readOnly = 2
    }

    init(_ kind: Kind, number: UInt64) {
        var generator = SystemRandomNumberGenerator()
        let secret = generator.next()
        var bytes = [kind.rawValue]
        for word in [number, secret] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        self.init(bytes: bytes)
    }

    /// nil for bytes that no store made.
    var kind: Kind? { bytes.count == 17 ? bytes.first.flatMap(Kind.init) : nil }

    var number: UInt64 { bytes.dropFirst().prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
