/// The offsets of a time zone, from a file of the tz database (RFC 9636, "TZif").
package struct TimeZoneData: Sendable {
    /// The times of the transitions, in seconds since 1970, ascending.
    private let transitions: [Int64]
    /// The offset from each transition on.
    private let offsets: [Int64]
    /// The offset before the first transition.
    private let first: Int64
    /// The rule after the last transition; nil if the last offset stays.
    private let rule: TimeZoneRule?

    /// Reads the content of a file; nil for anything that is not one of version 2 or later.
    package init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes)
        // Version 1 has 32-bit times, and version 2 starts after it.
        guard let old = reader.header(), old.version >= UInt8(ascii: "2"), reader.skip(old.size(ofTime: 4)),
            let counts = reader.header(), counts.transitions <= 10_000, (1...256).contains(counts.types)
        else { return nil }
        var times: [Int64] = []
        for _ in 0..<counts.transitions {
            guard let time = reader.number(8) else { return nil }
            if let last = times.last, time <= last { return nil }
            times.append(time)
        }
        guard let kinds = reader.take(counts.transitions) else { return nil }
        var types: [Int64] = []
        for _ in 0..<counts.types {
            guard let offset = reader.number(4), abs(offset) < 2 * 86_400, reader.skip(2) else { return nil }
            types.append(offset)
        }
        guard kinds.allSatisfy({ Int($0) < types.count }), reader.skip(counts.sizeAfterTypes(ofTime: 8)) else {
            return nil
        }
        transitions = times
        offsets = kinds.map { types[Int($0)] }
        first = types[0]
        let footer = reader.rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard footer.count >= 3 else { return nil }
        let text = String(decoding: footer[1], as: UTF8.self)
        rule = text.isEmpty ? nil : TimeZoneRule(text)
        if rule == nil, !text.isEmpty { return nil }
    }

    /// Returns the seconds that the zone is east of UTC at a number of seconds since 1970.
    package func offset(at time: Int64) -> Int64 {
        guard let last = transitions.last else { return rule?.offset(at: time) ?? first }
        if time >= last { return rule?.offset(at: time) ?? offsets[offsets.count - 1] }
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : offsets[low - 1]
    }

    private struct Header {
        let version: UInt8
        let isUTCount: Int
        let isStandardCount: Int
        let leaps: Int
        let transitions: Int
        let types: Int
        let characters: Int

        func sizeAfterTypes(ofTime size: Int) -> Int { characters + leaps * (size + 4) + isStandardCount + isUTCount }

        func size(ofTime size: Int) -> Int { transitions * (size + 1) + types * 6 + sizeAfterTypes(ofTime: size) }
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        var rest: ArraySlice<UInt8> { bytes[offset...] }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count >= 0, count <= bytes.count - offset else { return nil }
            defer { offset += count }
            return bytes[offset..<(offset + count)]
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        /// Reads a signed number with the most significant byte first.
        mutating func number(_ size: Int) -> Int64? {
            guard let bytes = take(size), let first = bytes.first else { return nil }
            return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
        }

        mutating func header() -> Header? {
            guard let magic = take(4), magic.elementsEqual("TZif".utf8), let version = take(1)?.first, skip(15) else {
                return nil
            }
            var counts: [Int] = []
            for _ in 0..<6 {
                guard let count = number(4), (0...1_000_000).contains(count) else { return nil }
                counts.append(Int(count))
            }
            return Header(
                version: version, isUTCount: counts[0], isStandardCount: counts[1], leaps: counts[2],
                transitions: counts[3], types: counts[4], characters: counts[5])
        }
    }
}
