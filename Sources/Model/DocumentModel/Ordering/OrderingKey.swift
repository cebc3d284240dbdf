/// Bytes whose `memcmp` order is the order of values, for an index.
///
/// One key holds one or more parts (an index over several fields), each ascending or descending. The key of each value begins with
/// its `TypeClass` and delimits itself, so no key is the beginning of another. Equal keys mean values that compare as equal.
///
/// A value's part is cut at 1500 bytes, as Firestore indexes only the beginning of long values; `isTruncated` then tells that
/// values with the same key may still differ and need to be compared themselves. Nothing can follow a cut part: what is appended
/// after it is left out, because it must not decide before the part that was cut. Names are never cut.
///
/// Format: strings and bytes escape 00 as 00 FF and end in 00 00. A number is the greatest double not above it (sign bit flipped,
/// or all bits where negative) and, for large integers, the 16-bit rest. Times are flipped Int64. Arrays end in 01. A vector has its
/// 32-bit dimension first. Map entries begin with 02, the map ends in 01. Path segments begin with 02 (numeric id, flipped Int64) or
/// 03 (string), the path ends in 01. A descending part is inverted. Numbers are big-endian.
package struct OrderingKey: Sendable, Hashable, Comparable {
    package static let defaultLimit = 1500

    package private(set) var bytes: [UInt8] = []
    package private(set) var isTruncated = false

    package init() {}

    /// An empty key that stands after bytes of the caller's.
    package init(following prefix: [UInt8]) {
        bytes = prefix
    }

    /// The key of one value, ascending.
    package init(_ value: Value, limit: Int = defaultLimit) {
        append(value, limit: limit)
    }

    /// The key of a document's path, for `__name__` within one database.
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

    /// The keys of all values that a range filter with `operand` may match: from `lower` up to but without `upper`.
    package static func range(of typeClass: TypeClass, descending: Bool = false) -> (lower: [UInt8], upper: [UInt8]) {
        let tag = typeClass.rawValue
        return descending ? ([~tag], [~tag + 1]) : ([tag], [tag + 1])
    }

    // MARK: - Parts

    /// Stops early once `end` is passed; the caller cuts.
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

    /// The entries in the order of their names, without those that cannot begin before `end`: to sort thousands for the sake of
    /// the first few would be most of the work.
    private func leading(_ fields: [String: Value], end: Int) -> [(key: String, value: Value)] {
        // The shortest entry: its tag, the end of an empty name, a value's tag.
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
        // One byte past the limit is enough to see that it was passed.
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
