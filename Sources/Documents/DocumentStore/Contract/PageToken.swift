import DocumentModel

/// The position at which a listing continues: the read time of its first page, and the last id that
/// was listed.
///
/// As text: the time in microseconds, a dash, and the id's UTF-8 in hexadecimal.
struct PageToken: CustomStringConvertible {
    let time: Timestamp
    let text: String

    static let invalid = DocumentStoreError(.invalidArgument, "Invalid page token.")

    init(time: Timestamp, text: String) {
        self.time = time
        self.text = text
    }

    /// Parses a token; nil for the empty token of a first page.
    init?(parsing token: String) throws(DocumentStoreError) {
        guard !token.isEmpty else { return nil }
        let parts = token.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Int64(parts[0]), let text = Self.decode(parts[1]) else { throw Self.invalid }
        self.init(time: Timestamp(microseconds: time), text: text)
    }

    var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var hex: [UInt8] = []
        for byte in text.utf8 { hex += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return "\(time.microseconds)-\(String(decoding: hex, as: UTF8.self))"
    }

    private static func decode(_ hex: Substring) -> String? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count % 2 == 0, !digits.isEmpty else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        return String(validating: bytes, as: UTF8.self)
    }
}
