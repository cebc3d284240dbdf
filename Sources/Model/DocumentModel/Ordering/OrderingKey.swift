/// Bytes whose `memcmp` order is the order of values, used as keys of an index.
///
/// A key has one or more parts (for an index over several fields), each ascending or descending.
/// The part of a value begins with its `TypeClass` and is self-delimiting, so no key is a prefix of
/// another. Equal keys mean that the values compare as equal.
///
/// The part of a value is cut at 1500 bytes, because Firestore indexes only the beginning of long
/// values. `isTruncated` then reports that values with the same key may differ and must be compared
/// themselves. Nothing is appended after a cut part, because a later part must not decide the order
/// before the part that was cut. Names are never cut.
///
/// Format: strings and bytes escape 00 as 00 FF and end with 00 00. A number is the greatest double
/// not above it (the sign bit is inverted, or all bits if negative) and, for large integers, the
/// 16-bit difference. Times are Int64 with the sign bit inverted. Arrays end with 01. A vector
/// starts with its 32-bit dimension. Map entries start with 02, and the map ends with 01. Path
/// segments start with 02 (numeric id, Int64 with the sign bit inverted) or 03 (string), and the
/// path ends with 01. The bytes of a descending part are inverted. Numbers are big-endian.
package struct OrderingKey: Sendable, Hashable, Comparable {
    package static let defaultLimit = 1500

    package private(set) var bytes: [UInt8] = []
    package private(set) var isTruncated = false

    package init() {}

    /// Creates an empty key after a prefix chosen by the caller.
    package init(following prefix: [UInt8]) {
        bytes = prefix
    }

    /// Creates the ascending key of one value.
    package init(_ value: Value, limit: Int = defaultLimit) {
        append(value, limit: limit)
    }

    /// Creates the key of a document's path, for `__name__` within one database.
    package init(name: DocumentName) {
        append(name)
    }

    package static func < (left: OrderingKey, right: OrderingKey) -> Bool {
        UTF8Order.compare(left.bytes, right.bytes) < 0
    }

    package mutating func append(_ value: Value, descending: Bool = false, limit: Int = defaultLimit) {
        guard !isTruncated else { return }
        let start = bytes.count
        encode(value, end: start + limit)
        if bytes.count > start + limit {
            bytes.removeLast(bytes.count - start - limit)
            isTruncated = true
        }
        if descending { invert(from: start) }
    }

    package mutating func append(_ name: DocumentName, descending: Bool = false) {
        guard !isTruncated else { return }
        let start = bytes.count
        encode(path: name.path)
        if descending { invert(from: start) }
    }

    /// Returns the keys of all values that a range filter with an operand of this class can match:
    /// from `lower` up to, but not including, `upper`.
    package static func range(of typeClass: TypeClass, descending: Bool = false) -> (lower: [UInt8], upper: [UInt8]) {
        let tag = typeClass.rawValue
        return descending ? ([~tag], [~tag + 1]) : ([tag], [tag + 1])
    }

    // MARK: - Parts

    /// Appends the part of a value. Stops early once `end` is passed; the caller then cuts the
    /// part.
    private mutating func encode(_ value: Value, end: Int) {
        guard bytes.count <= end else { return }
        let typeClass = value.typeClass
        bytes.append(typeClass.rawValue)
        switch value {
        case .null: break
        case .boolean(let value): bytes.append(value ? 1 : 0)
        case .integer(let value):
            let (double, rest) = Number.floor(value)
            encode(double, rest: rest)
        case .double(let value): if !value.isNaN { encode(value, rest: 0) }
        case .timestamp(let value): encode(flipping: value.microseconds)
        case .string(let value): encode(escaping: value.utf8, end: end)
        case .bytes(let value): encode(escaping: value, end: end)
        case .reference(let value): encode(path: value)
        case .geoPoint(let point):
            encode(point.latitude, rest: 0)
            encode(point.longitude, rest: 0)
        case .array(let elements):
            for element in elements { encode(element, end: end) }
            bytes.append(0x01)
        case .map(let fields):
            if typeClass == .vector, let elements = value.vectorElements {
                encode(bigEndian: UInt32(truncatingIfNeeded: elements.count))
                for element in elements { encode(element, end: end) }
                return
            }
            for (key, value) in leading(fields, end: end) {
                guard bytes.count <= end else { return }
                bytes.append(0x02)
                encode(escaping: key.utf8, end: end)
                encode(value, end: end)
            }
            bytes.append(0x01)
        }
    }

    /// Returns the entries in the order of their names, without entries that cannot begin before
    /// `end`. Sorting thousands of entries for the first few would be most of the work.
    private func leading(_ fields: [String: Value], end: Int) -> [(key: String, value: Value)] {
        // The shortest entry consists of its tag, the end of an empty name and a value's tag.
        let most = max(0, end - bytes.count) / 4 + 1
        guard fields.count > 2 * most else {
            return fields.sorted { UTF8Order.precedes($0.key, $1.key) }
        }
        var first: [(key: String, value: Value)] = []
        for entry in fields {
            if first.count == most, let last = first.last, UTF8Order.precedes(last.key, entry.key) { continue }
            let place = first.firstIndex { UTF8Order.precedes(entry.key, $0.key) } ?? first.count
            first.insert(entry, at: place)
            if first.count > most { first.removeLast() }
        }
        return first
    }

    private mutating func encode(_ double: Double, rest: UInt16) {
        let bits = (double == 0 ? 0 : double).bitPattern
        encode(bigEndian: double.isNaN ? 0 : bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
        encode(bigEndian: rest)
    }

    private mutating func encode(flipping integer: Int64) {
        encode(bigEndian: UInt64(bitPattern: integer) ^ 1 << 63)
    }

    private mutating func encode(bigEndian word: some FixedWidthInteger) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func encode(escaping content: some Collection<UInt8>, end: Int) {
        // One byte after the limit is enough to detect that the limit was passed.
        for byte in content.prefix(max(0, end - bytes.count) + 1) {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xff) }
        }
        bytes.append(0)
        bytes.append(0)
    }

    private mutating func encode(path: String) {
        var rest = path.utf8[...]
        while let segment = PathOrder.takeSegment(&rest) {
            if let number = DocumentName.numericID(segment) {
                bytes.append(0x02)
                encode(flipping: number)
            } else {
                bytes.append(0x03)
                encode(escaping: segment.utf8, end: .max - 1)
            }
        }
        bytes.append(0x01)
    }

    private mutating func invert(from start: Int) {
        for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }
}
