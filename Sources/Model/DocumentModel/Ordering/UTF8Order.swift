import Glibc

/// Order and equality of strings by their UTF-8 bytes, as in Firestore. Swift's `==` and `<` follow
/// canonical equivalence instead.
package enum UTF8Order {
    /// Returns a negative number, zero or a positive number if `left` sorts before, with or after
    /// `right`.
    package static func compare(_ left: String, _ right: String) -> Int {
        let quick = left.utf8.withContiguousStorageIfAvailable { a in
            right.utf8.withContiguousStorageIfAvailable { b in compare(a, b) }
        }
        if let answer = quick ?? nil { return answer }
        return Array(left.utf8).withUnsafeBufferPointer { a in
            Array(right.utf8).withUnsafeBufferPointer { b in compare(a, b) }
        }
    }

    package static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.withUnsafeBufferPointer { a in right.withUnsafeBufferPointer { b in compare(a, b) } }
    }

    /// Returns the first eight bytes as a number, padded with zeros. If the prefixes of two strings
    /// differ, they have the order of the strings.
    package static func prefix(_ string: String) -> UInt64 {
        var string = string
        return string.withUTF8 { bytes in
            (0..<8).reduce(0) { $0 << 8 | ($1 < bytes.count ? UInt64(bytes[$1]) : 0) }
        }
    }

    package static func precedes(_ left: String, _ right: String) -> Bool { compare(left, right) < 0 }

    package static func areEqual(_ left: String, _ right: String) -> Bool { compare(left, right) == 0 }

    /// Hashes a string consistently with `areEqual`.
    package static func hash(_ string: String, into hasher: inout Hasher) {
        let done: Void? = string.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if done == nil { Array(string.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
        hasher.combine(0xff as UInt8)
    }

    private static func compare(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        let common = min(a.count, b.count)
        if common > 0, let first = a.baseAddress, let second = b.baseAddress {
            let order = memcmp(first, second, common)
            if order != 0 { return Int(order) }
        }
        return a.count - b.count
    }
}
