import DocumentModel
import Glibc

/// Added and removed rows of the index, stored in one block of memory.
struct IndexChanges: Sendable {
    private struct Item {
        var start: Int
        var count: Int
        /// The number of the document; 0 if the entry is removed.
        var document: Int64
        var time: Int64
    }

    private var bytes: [UInt8] = []
    private var items: [Item] = []

    var count: Int { items.count }
    var isEmpty: Bool { items.isEmpty }

    // MARK: Adding

    mutating func append(_ row: [UInt8], document: Int64, time: Int64) {
        items.append(Item(start: bytes.count, count: row.count, document: document, time: time))
        bytes.append(contentsOf: row)
    }

    private mutating func append(_ index: Int, of other: IndexChanges) {
        var item = other.items[index]
        bytes.append(contentsOf: other.bytes[item.start..<item.start + item.count])
        item.start = bytes.count - item.count
        items.append(item)
    }

    mutating func append(_ other: IndexChanges) {
        let offset = bytes.count
        bytes += other.bytes
        items += other.items.map {
            Item(start: $0.start + offset, count: $0.count, document: $0.document, time: $0.time)
        }
    }

    // MARK: Reading

    func row(_ index: Int) -> [UInt8] {
        let item = items[index]
        return Array(bytes[item.start..<item.start + item.count])
    }

    /// Returns the number of the document that has the entry; 0 if the entry is removed.
    func document(_ index: Int) -> Int64 { items[index].document }

    func time(_ index: Int) -> Int64 { items[index].time }

    func withRow<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let item = items[index]
        return try bytes.withUnsafeBytes {
            try body(UnsafeRawBufferPointer(rebasing: $0[item.start..<item.start + item.count]))
        }
    }

    func compare(_ index: Int, with row: [UInt8]) -> Int {
        withRow(index) { left in row.withUnsafeBytes { Self.compare(left, $0) } }
    }

    func compare(_ index: Int, with other: Int, of changes: IndexChanges) -> Int {
        withRow(index) { left in changes.withRow(other) { Self.compare(left, $0) } }
    }

    private static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let first = left.baseAddress, let second = right.baseAddress {
            let order = memcmp(first, second, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }

    // MARK: In the order of rows, then times

    mutating func sort() {
        bytes.withUnsafeBytes { bytes in
            items.sort { left, right in
                let order = Self.compare(
                    UnsafeRawBufferPointer(rebasing: bytes[left.start..<left.start + left.count]),
                    UnsafeRawBufferPointer(rebasing: bytes[right.start..<right.start + right.count]))
                return order == 0 ? left.time < right.time : order < 0
            }
        }
    }

    /// Returns the index of the first change whose row is not before `row`.
    func index(from row: [UInt8]) -> Int {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if compare(middle, with: row) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func merged(with other: IndexChanges) -> IndexChanges {
        var merged = IndexChanges()
        merged.items.reserveCapacity(items.count + other.items.count)
        merged.bytes.reserveCapacity(bytes.count + other.bytes.count)
        var (left, right) = (0, 0)
        while left < items.count, right < other.items.count {
            let order = compare(left, with: right, of: other)
            if order < 0 || (order == 0 && items[left].time <= other.items[right].time) {
                merged.append(left, of: self)
                left += 1
            } else {
                merged.append(right, of: other)
                right += 1
            }
        }
        while left < items.count {
            merged.append(left, of: self)
            left += 1
        }
        while right < other.items.count {
            merged.append(right, of: other)
            right += 1
        }
        return merged
    }

    /// Whether a later change of the same row follows.
    func isOutdated(_ index: Int) -> Bool {
        index + 1 < items.count && compare(index, with: index + 1, of: self) == 0
    }

    mutating func removeAll(after time: Int64) { items.removeAll { $0.time > time } }
}
