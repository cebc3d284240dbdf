/// Literals, so that fields read as they are meant: `["title": "Milk", "priority": 1, "tags": ["home"]]`.
extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: Value...) { self = .array(elements) }

    /// Of two equal keys the last counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .map(Dictionary(elements) { $1 })
    }
}

/// A vector for `Query.FindNearest`, in the form in which Firestore stores it.
extension Value {
    public static func vector(_ elements: [Double]) -> Value {
        ["__type__": "__vector__", "value": .array(elements.map { .double($0) })]
    }
}
