/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Returns the text with all bytes escaped except the unreserved ones (letters, digits, `-._~`)
    /// and those in `keeping`.
    package static func encode(_ text: some StringProtocol, keeping: StaticString = "") -> String {
        let kept = UnsafeBufferPointer(start: keeping.utf8Start, count: keeping.utf8CodeUnitCount)
        func isKept(_ byte: UInt8) -> Bool { isUnreserved(byte) || kept.contains(byte) }
        if text.utf8.allSatisfy(isKept) { return String(text) }
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isKept(byte) {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(digit(byte >> 4))
                result.append(digit(byte & 15))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the decoded text, or nil for an incomplete or non-hexadecimal escape, a NUL, or
    /// bytes that are not UTF-8.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(value(ofDigit:)), let low = bytes.next().flatMap(value(ofDigit:))
                else { return nil }
                result.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: result.append(0x20)
            default: result.append(byte)
            }
        }
        return result.contains(0) ? nil : String(validating: result, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
