import DocumentModel

/// A half-open range of ordering keys, or of ids. It may hold too much, never too little: the matcher has the last word.
struct IndexRange: Sendable, Hashable {
    var lower: [UInt8]
    var upper: [UInt8]

    static let all = IndexRange(lower: [], upper: [0xFF])

    init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    // MARK: Ordering keys

    // No ordering key is the beginning of another, and what may follow one in a row never begins with FF.

    /// Only `key`, whatever follows it.
    init(key: [UInt8]) {
        self.init(lower: key, upper: key + [0xFF])
    }

    /// The entries whose key is that of `value`.
    init(equalTo value: Value) {
        self.init(key: IndexEntries.key(value))
    }

    init(from key: [UInt8]) {
        self.init(lower: key, upper: IndexRange.all.upper)
    }

    init(through key: [UInt8]) {
        self.init(lower: [], upper: key + [0xFF])
    }

    /// The entries that a condition on the field itself may hold for.
    init(_ test: Condition.Test) {
        switch test {
        case .equal(let value): self.init(equalTo: value)
        case .isNull: self.init(equalTo: .null)
        case .isNaN: self.init(equalTo: .double(.nan))
        case .lessThan(let value), .lessThanOrEqual(let value):
            self.init(lower: OrderingKey.range(of: value.typeClass).lower, upper: IndexEntries.key(value) + [0xFF])
        case .greaterThan(let value), .greaterThanOrEqual(let value):
            self.init(lower: IndexEntries.key(value), upper: OrderingKey.range(of: value.typeClass).upper)
        case .in, .notEqual, .notIn, .isNotNull, .isNotNaN, .arrayContains, .arrayContainsAny: self = .all
        }
    }

    /// The one key of the range, if it was made of one.
    var singleKey: [UInt8]? {
        upper.count == lower.count + 1 && upper.last == 0xFF && upper.starts(with: lower) && !lower.isEmpty
            ? lower : nil
    }

    // MARK: Ids

    // An id may well be the beginning of another.

    init(id: [UInt8]) {
        self.init(lower: id, upper: id + [0])
    }

    init(throughID id: [UInt8]) {
        self.init(lower: [], upper: id + [0])
    }

    // MARK: Both

    func intersection(_ other: IndexRange) -> IndexRange {
        IndexRange(
            lower: UTF8Order.compare(lower, other.lower) >= 0 ? lower : other.lower,
            upper: UTF8Order.compare(upper, other.upper) <= 0 ? upper : other.upper)
    }
}
