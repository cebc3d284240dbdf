/// Order of resource names, segment by segment. Numeric ids (`__id7__`) come before all others and
/// are ordered by number.
package enum PathOrder {
    package static func compare(_ left: String, _ right: String) -> Int {
        var (a, b) = (left.utf8[...], right.utf8[...])
        while true {
            let (first, second) = (takeSegment(&a), takeSegment(&b))
            guard let first else { return second == nil ? 0 : -1 }
            guard let second else { return 1 }
            let answer = compareSegments(first, second)
            if answer != 0 { return answer }
        }
    }

    private static func compareSegments(_ left: Substring, _ right: Substring) -> Int {
        switch (DocumentName.numericID(left), DocumentName.numericID(right)) {
        case (let a?, let b?): return order(a, b)
        case (_?, nil): return -1
        case (nil, _?): return 1
        case (nil, nil): break
        }
        if left.utf8.lexicographicallyPrecedes(right.utf8) { return -1 }
        return left.utf8.elementsEqual(right.utf8) ? 0 : 1
    }

    /// Removes and returns the first segment; nil if none is left. The empty string has no
    /// segments.
    static func takeSegment(_ rest: inout Substring.UTF8View.SubSequence) -> Substring? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "/"))
        let segment = Substring(rest[..<(end ?? rest.endIndex)])
        rest = end.map { rest[rest.index(after: $0)...] } ?? rest[rest.endIndex...]
        return segment
    }
}

extension DocumentName: Comparable {
    /// Orders names as `__name__` does in queries.
    public static func < (left: DocumentName, right: DocumentName) -> Bool { compare(left, right) < 0 }

    /// Returns a negative number, zero or a positive number if `left` sorts before, with or after
    /// `right` in the order of `__name__`.
    public static func compare(_ left: DocumentName, _ right: DocumentName) -> Int {
        if left.database != right.database {
            return UTF8Order.compare(left.database.description, right.database.description)
        }
        return PathOrder.compare(left.path, right.path)
    }
}
