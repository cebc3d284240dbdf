import DocumentModel

/// A half-open range of ordering keys or of ids. It may contain too much, never too little: the
/// matcher makes the final decision.
struct IndexRange: Sendable, Hashable {
    var lower: [UInt8]
    var upper: [UInt8]

    static let all = IndexRange(lower: [], upper: [0xFF])

    init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    // MARK: Ordering keys

    // No ordering key is a prefix of another, and what follows a key in a row never begins with FF.

    /// Creates the range of rows with one key.
    init(key: [UInt8]) {
        self.init(lower: key, upper: key + [0xFF])
    }

    /// Creates the range of entries whose key is that of `value`.
    init(equalTo value: Value) {
        self.init(key: IndexEntries.key(value))
    }

    init(from key: [UInt8]) {
        self.init(lower: key, upper: IndexRange.all.upper)
    }

    init(through key: [UInt8]) {
        self.init(lower: [], upper: key + [0xFF])
    }

    /// Creates the range of entries for which a condition on the field itself may hold.
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

    /// The only key of the range, if it was created from one.
    var singleKey: [UInt8]? {
        upper.count == lower.count + 1 && upper.last == 0xFF && upper.starts(with: lower) && !lower.isEmpty
            ? lower : nil
    }

    // MARK: Ids

    // An id may be a prefix of another id.

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
