/// Literals for field values: `["title": "Milk", "priority": 1, "tags": ["home"]]`.
extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates a double.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates an array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }

    /// Creates a map. If a key occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .map(Dictionary(elements) { $1 })
    }
}

extension Value {
    /// Returns a vector for `Query.FindNearest` in the form in which Firestore stores it.
    public static func vector(_ elements: [Double]) -> Value {
        ["__type__": "__vector__", "value": .array(elements.map { .double($0) })]
    }
}
