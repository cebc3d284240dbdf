/// The fields of a message, by which JSON and the wire format are converted to each other.
struct MessageSchema: Sendable {
    struct Field: Sendable {
        enum Cardinality: Sendable { case single, repeated, map }

        /// The name in JSON, in lower camel case.
        let name: String
        let number: Int
        let type: FieldType
        var cardinality = Cardinality.single
        /// The oneof that the field belongs to; nil for none. A message may set one of its fields.
        var choice: String?
    }

    let name: String
    private let fields: [Int: Field]
    private let numbers: [String: Int]

    init(_ name: String, _ fields: [Field]) {
        self.name = name
        self.fields = Dictionary(fields.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        var numbers: [String: Int] = [:]
        for field in fields {
            numbers[field.name] = field.number
            // Parsers of proto3 JSON accept the original name, too.
            numbers[Self.snakeCase(field.name)] = field.number
        }
        self.numbers = numbers
    }

    subscript(number: Int) -> Field? { fields[number] }
    subscript(name: String) -> Field? { numbers[name].flatMap { fields[$0] } }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            text += character.isUppercase ? "_\(character.lowercased())" : "\(character)"
        }
    }
}

extension MessageSchema.Field {
    static func one(_ name: String, _ number: Int, _ type: FieldType, of choice: String? = nil) -> Self {
        Self(name: name, number: number, type: type, choice: choice)
    }

    static func many(_ name: String, _ number: Int, _ type: FieldType) -> Self {
        Self(name: name, number: number, type: type, cardinality: .repeated)
    }

    /// A map whose keys are strings.
    static func map(_ name: String, _ number: Int, _ type: FieldType) -> Self {
        Self(name: name, number: number, type: type, cardinality: .map)
    }
}

/// The type of a field, with the forms that proto3 JSON has for some messages.
enum FieldType: Sendable {
    case string, boolean, int32, int64, double, bytes, null
    /// An enum, whose names are in the order of their numbers from 0.
    case enumeration([String])
    case timestamp, duration
    case int32Value, int64Value, doubleValue
    /// `google.protobuf.Struct`.
    case structure
    case message(MessageType)
}
