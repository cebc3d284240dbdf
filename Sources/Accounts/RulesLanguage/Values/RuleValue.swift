import DocumentModel

/// A value of the rules language.
///
/// Values are equal if they have one type and the same content; integers and floats are compared as
/// numbers.
enum RuleValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case float(Double)
    case string(String)
    case bytes([UInt8])
    case timestamp(Timestamp)
    /// A length of time in nanoseconds, positive or negative.
    indirect case duration(Int128)
    indirect case latlng(GeoPoint)
    /// The segments of a path, without slashes.
    case path([String])
    case list(List)
    case set(Set<RuleValue>)
    case map(Map)
    /// The difference `first.diff(second)` of two maps.
    indirect case mapDifference(Map, RuleValue.Map)
    /// Something that a query leaves open: different documents that it may return have different
    /// values here.
    case unknown(Unknown)
}

extension RuleValue {
    /// A list, either built by an expression or a stored array whose elements are converted when they
    /// are used.
    enum List: Sendable {
        case built([RuleValue])
        case stored([Value])

        var count: Int {
            switch self {
            case .built(let elements): elements.count
            case .stored(let elements): elements.count
            }
        }

        var elements: [RuleValue] {
            switch self {
            case .built(let elements): elements
            case .stored(let elements): elements.map(RuleValue.init)
            }
        }

        /// The element at an index; nil beyond the ends.
        func element(at index: Int) -> RuleValue? {
            switch self {
            case .built(let elements): elements.indices.contains(index) ? elements[index] : nil
            case .stored(let elements): elements.indices.contains(index) ? RuleValue(elements[index]) : nil
            }
        }
    }
}

extension RuleValue {
    /// A map: built by an expression, the stored fields of a document whose values are converted when
    /// they are used, or a view of something else.
    enum Map: Sendable {
        case built([String: RuleValue])
        case stored([String: Value])
        case view(any RuleMapView)

        /// Returns the value of a key; nil if the map lacks it.
        func value(of key: String) -> RuleValue? {
            switch self {
            case .built(let entries): entries[key]
            case .stored(let entries): entries[key].map(RuleValue.init)
            case .view(let view): view.value(of: key)
            }
        }

        /// The entries; nil if a query leaves open which there are.
        var entries: [String: RuleValue]? {
            switch self {
            case .built(let entries): entries
            case .stored(let entries): entries.mapValues(RuleValue.init)
            case .view(let view): view.entries
            }
        }

        /// The number of entries; nil if a query leaves it open.
        var count: Int? {
            switch self {
            case .built(let entries): entries.count
            case .stored(let entries): entries.count
            case .view(let view): view.entries?.count
            }
        }

        /// The keys in the order of their bytes; nil if a query leaves open which there are.
        var keys: [String]? {
            switch self {
            case .built(let entries): entries.keys.sorted(by: UTF8Order.isLess)
            case .stored(let entries): entries.keys.sorted(by: UTF8Order.isLess)
            case .view(let view): view.entries?.keys.sorted(by: UTF8Order.isLess)
            }
        }

        /// Whether the map has a key; nil if a query leaves it open.
        func hasKey(_ key: String) -> Bool? {
            switch self {
            case .built(let entries): entries[key] != nil
            case .stored(let entries): entries[key] != nil
            case .view(let view): view.hasKey(key)
            }
        }
    }
}

/// A map whose values are made when they are asked for.
protocol RuleMapView: AnyObject, Sendable {
    /// Returns the value of a key; nil if the map lacks it.
    func value(of key: String) -> RuleValue?
    /// The entries; nil if a query leaves open which there are.
    var entries: [String: RuleValue]? { get }
    /// Whether the map has a key; nil if a query leaves it open.
    func hasKey(_ key: String) -> Bool?
}

extension UTF8Order {
    fileprivate static func isLess(_ left: String, _ right: String) -> Bool { compare(left, right) < 0 }
}

extension RuleValue {
    /// Converts a stored value.
    init(_ value: Value) {
        self =
            switch value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .double(let value): .float(value)
            case .timestamp(let value): .timestamp(value)
            case .string(let value): .string(value)
            case .bytes(let value): .bytes(value)
            case .reference(let value): .path(Self.segments(ofReference: value))
            case .geoPoint(let value): .latlng(value)
            case .array(let value): .list(.stored(value))
            case .map(let value): .map(.stored(value))
            }
    }

    /// The segments of a document's path as rules see it, which starts with `databases`.
    static func segments(ofReference name: String) -> [String] {
        let segments = name.split(separator: "/").map(String.init)
        return segments.first == "projects" ? Array(segments.dropFirst(2)) : segments
    }

    static func strings(_ strings: some Sequence<String>) -> RuleValue { .list(.built(strings.map(RuleValue.string))) }
}

extension RuleValue: Hashable {
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.float(let a), .float(let b)): a == b
        case (.integer(let a), .float(let b)), (.float(let b), .integer(let a)): Double(a) == b
        case (.string(let a), .string(let b)): UTF8Order.areEqual(a, b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.duration(let a), .duration(let b)): a == b
        case (.latlng(let a), .latlng(let b)): a == b
        case (.path(let a), .path(let b)): a == b
        case (.list(let a), .list(let b)): a.count == b.count && a.elements == b.elements
        case (.set(let a), .set(let b)): a == b
        case (.map(let a), .map(let b)): a.count == b.count && a.entries == b.entries
        case (.mapDifference(let a, let b), .mapDifference(let c, let d)):
            a.entries == c.entries && b.entries == d.entries
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .null, .mapDifference, .unknown: break
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(Double(value))
        case .float(let value): hasher.combine(value)
        case .string(let value): UTF8Order.hash(value, into: &hasher)
        case .bytes(let value): hasher.combine(value)
        case .timestamp(let value): hasher.combine(value)
        case .duration(let value): hasher.combine(value)
        case .latlng(let value): hasher.combine(value)
        case .path(let value): hasher.combine(value)
        case .list(let value): hasher.combine(value.elements)
        case .set(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value.count)
        }
    }
}
