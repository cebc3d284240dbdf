/// A set of replacements of byte ranges, which must not overlap.
struct ByteEdits {
    private var edits: [(range: Range<Int>, bytes: [UInt8])] = []

    /// Adds a replacement. Edits at the same position are applied in the order in which they were
    /// added.
    mutating func replace(_ range: Range<Int>, with text: String) {
        edits.append((range, Array(text.utf8)))
    }

    mutating func insert(_ text: String, at offset: Int) { replace(offset..<offset, with: text) }

    mutating func replace(_ range: Range<Int>, with bytes: [UInt8]) { edits.append((range, bytes)) }

    func apply(to bytes: [UInt8]) -> [UInt8] {
        let ordered = edits.enumerated().sorted {
            ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + edits.reduce(0) { $0 + $1.bytes.count })
        var place = 0
        for (_, edit) in ordered {
            let start = min(max(edit.range.lowerBound, place), bytes.count)
            result += bytes[place..<start]
            result += edit.bytes
            place = min(max(edit.range.upperBound, start), bytes.count)
        }
        return result + bytes[place...]
    }
}
