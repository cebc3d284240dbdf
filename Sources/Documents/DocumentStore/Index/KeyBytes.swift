import DocumentModel

/// Order-preserving byte keys of names and paths.
///
/// Each segment is its UTF-8, with 0x00 written as 01 01 and 0x01 as 01 02, terminated by 0x00.
/// Keys therefore compare (memcmp) like the names: segment by segment and shorter ones first. The
/// key of a parent is a prefix of the keys below it. A numeric id `__id<n>__`, which only cursors
/// contain, is 0x00, then the big-endian number with its sign bit inverted, then 0x00, and so
/// precedes every other id.
package enum KeyBytes {
    package static func path(_ path: String) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(path.utf8.count + 1)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "/"): key.append(0)
            case 0: key += [1, 1]
            case 1: key += [1, 2]
            default: key.append(byte)
            }
        }
        if !key.isEmpty { key.append(0) }
        return key
    }

    static func append(segment: some StringProtocol, to key: inout [UInt8]) {
        for byte in segment.utf8 {
            switch byte {
            case 0: key += [1, 1]
            case 1: key += [1, 2]
            default: key.append(byte)
            }
        }
        key.append(0)
    }

    static func append(id: [UInt8], to key: inout [UInt8]) {
        for byte in id {
            switch byte {
            case 0: key += [1, 1]
            case 1: key += [1, 2]
            default: key.append(byte)
            }
        }
        key.append(0)
    }

    /// Returns the key of a document's name, which may contain numeric ids.
    static func documentPath(_ path: String) -> [UInt8] {
        var key: [UInt8] = []
        for (index, segment) in path.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1, let number = DocumentName.numericID(segment) {
                key.append(0)
                let sortable = UInt64(bitPattern: number) ^ (1 << 63)
                for shift in stride(from: 56, through: 0, by: -8) {
                    key.append(UInt8(truncatingIfNeeded: sortable >> UInt64(shift)))
                }
                key.append(0)
            } else {
                append(segment: segment, to: &key)
            }
        }
        return key
    }

    static func field(_ path: FieldPath) -> [UInt8] {
        var key: [UInt8] = []
        for segment in path.segments { append(segment: segment, to: &key) }
        return key
    }

    /// Decodes a key that `path` returned; nil for other bytes.
    package static func decodePath(_ key: UnsafeRawBufferPointer) -> String? {
        var text: [UInt8] = []
        text.reserveCapacity(key.count)
        var index = 0
        while index < key.count {
            switch key[index] {
            case 0:
                text.append(UInt8(ascii: "/"))
            case 1:
                index += 1
                guard index < key.count, key[index] == 1 || key[index] == 2 else { return nil }
                text.append(key[index] - 1)
            default:
                text.append(key[index])
            }
            index += 1
        }
        if text.last == UInt8(ascii: "/") { text.removeLast() }
        return String(validating: text, as: UTF8.self)
    }

    /// Returns the smallest key after all keys that begin with `prefix`; nil if there is none.
    package static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var key = prefix
        while let last = key.last {
            if last < 0xFF {
                key[key.count - 1] = last + 1
                return key
            }
            key.removeLast()
        }
        return nil
    }
}
