/// The decoder of the percent-encoding in `grpc-message` and in URLs.
enum PercentDecoding {
    /// Decodes escapes such as `%41`. A percent sign without two hexadecimal digits after it is
    /// kept.
    static func decoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2, let number = UInt8(exactly: digits[0] * 16 + digits[1]) {
                decoded.append(number)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }
}
