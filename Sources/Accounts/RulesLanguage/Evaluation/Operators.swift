import DocumentModel

/// The operators on values.
enum Operators {
    /// The longest string that an operator makes, in bytes of UTF-8.
    static let stringLimit = 1 << 20

    static func apply(
        _ operation: BinaryOperator, _ left: RuleValue, _ right: RuleValue, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        switch operation {
        case .equal: return areEqual(left, right).map(RuleValue.boolean) ?? .unknown(.anything)
        case .notEqual: return areEqual(left, right).map { .boolean(!$0) } ?? .unknown(.anything)
        case .isIn: return try contains(right, left, &counter)
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return try compare(operation, left, right)
        default:
            if case .unknown = left { return .unknown(.anything) }
            if case .unknown = right { return .unknown(.anything) }
            return try calculate(operation, left, right, &counter)
        }
    }

    /// Whether two values are equal; nil if a query leaves it open.
    static func areEqual(_ left: RuleValue, _ right: RuleValue) -> Bool? {
        switch (left, right) {
        case (.unknown(let unknown), let value) where !value.isOpen,
            (let value, .unknown(let unknown)) where !value.isOpen:
            unknown.compare(.equal, value)
        case (.null, .list), (.list, .null), (.null, .map), (.map, .null): false
        default: left.isOpen || right.isOpen ? nil : left == right
        }
    }

    private static func compare(
        _ operation: BinaryOperator, _ left: RuleValue, _ right: RuleValue
    ) throws(OperationError) -> RuleValue {
        switch (left, right) {
        case (.unknown, .unknown): return .unknown(.anything)
        case (.unknown(let unknown), let value):
            return unknown.compare(operation, value).map(RuleValue.boolean) ?? .unknown(.anything)
        case (let value, .unknown(let unknown)):
            let mirrored: BinaryOperator =
                switch operation {
                case .less: .greater
                case .lessOrEqual: .greaterOrEqual
                case .greater: .less
                default: .lessOrEqual
                }
            return unknown.compare(mirrored, value).map(RuleValue.boolean) ?? .unknown(.anything)
        default: break
        }
        if left.isNaN || right.isNaN { return .boolean(false) }
        guard let order = left.order(to: right) else {
            throw OperationError(
                "A \(left.typeName) and a \(right.typeName) cannot be compared by \"\(operation.rawValue)\".")
        }
        switch operation {
        case .less: return .boolean(order < 0)
        case .lessOrEqual: return .boolean(order <= 0)
        case .greater: return .boolean(order > 0)
        default: return .boolean(order >= 0)
        }
    }

    private static func contains(
        _ container: RuleValue, _ value: RuleValue, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        switch container {
        case .list(let list):
            try counter.spend(elements: list.count)
            var isLeftOpen = false
            for element in list.elements {
                switch areEqual(element, value) {
                case true?: return .boolean(true)
                case false?: break
                case nil: isLeftOpen = true
                }
            }
            return isLeftOpen ? .unknown(.anything) : .boolean(false)
        case .set(let set):
            return value.isOpen ? .unknown(.anything) : .boolean(set.contains(value))
        case .map(let map):
            switch value {
            case .string(let key): return map.hasKey(key).map(RuleValue.boolean) ?? .unknown(.anything)
            case .unknown: return .unknown(.anything)
            default: return .boolean(false)
            }
        case .unknown(let unknown):
            return unknown.contains(value).map(RuleValue.boolean) ?? .unknown(.anything)
        default: throw .unsupported("elements for \"in\"", on: container)
        }
    }

    // MARK: Arithmetic

    private static func calculate(
        _ operation: BinaryOperator, _ left: RuleValue, _ right: RuleValue, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        switch (left, right) {
        case (.integer(let a), .integer(let b)): return .integer(try integer(operation, a, b))
        case (.integer, .float), (.float, .integer), (.float, .float):
            return .float(try float(operation, left.number ?? 0, right.number ?? 0))
        case (.string(let a), .string(let b)) where operation == .add:
            let count = a.utf8.count + b.utf8.count
            guard count <= stringLimit else {
                throw OperationError("This string would be longer than \(stringLimit) bytes.")
            }
            try counter.spend(bytes: count)
            return .string(a + b)
        case (.timestamp(let time), .duration(let length)) where operation == .add || operation == .subtract:
            return try TimeValues.moved(time, by: operation == .add ? length : -length)
        case (.duration(let length), .timestamp(let time)) where operation == .add:
            return try TimeValues.moved(time, by: length)
        case (.timestamp(let a), .timestamp(let b)) where operation == .subtract:
            return .duration((Int128(a.microseconds) - Int128(b.microseconds)) * 1000)
        case (.duration(let a), .duration(let b)) where operation == .add || operation == .subtract:
            return try TimeValues.duration(operation == .add ? a + b : a - b)
        default:
            throw OperationError(
                "\"\(operation.rawValue)\" is not for a \(left.typeName) and a \(right.typeName).")
        }
    }

    private static func integer(_ operation: BinaryOperator, _ a: Int64, _ b: Int64) throws(OperationError) -> Int64 {
        let (value, overflow): (Int64, Bool)
        switch operation {
        case .add: (value, overflow) = a.addingReportingOverflow(b)
        case .subtract: (value, overflow) = a.subtractingReportingOverflow(b)
        case .multiply: (value, overflow) = a.multipliedReportingOverflow(by: b)
        case .divide: (value, overflow) = a.dividedReportingOverflow(by: b)
        default: (value, overflow) = a.remainderReportingOverflow(dividingBy: b)
        }
        guard !overflow else {
            throw OperationError(b == 0 ? "This divides by zero." : "The result is beyond an integer of 64 bits.")
        }
        return value
    }

    private static func float(_ operation: BinaryOperator, _ a: Double, _ b: Double) throws(OperationError) -> Double {
        switch operation {
        case .add: a + b
        case .subtract: a - b
        case .multiply: a * b
        case .divide: a / b
        default: a.truncatingRemainder(dividingBy: b)
        }
    }

    static func negate(_ value: RuleValue) throws(OperationError) -> RuleValue {
        switch value {
        case .integer(let number): return .integer(try integer(.subtract, 0, number))
        case .float(let number): return .float(-number)
        case .duration(let length): return .duration(-length)
        case .unknown: return .unknown(.anything)
        default: throw .unsupported("negative", on: value)
        }
    }

    // MARK: Elements

    static func element(of value: RuleValue, at index: RuleValue) throws(OperationError) -> RuleValue {
        switch (value, index) {
        case (.unknown, _), (_, .unknown): return .unknown(.anything)
        case (.map(let map), .string(let key)):
            guard let element = map.value(of: key) else { throw OperationError("The map has no key \"\(key)\".") }
            return element
        case (.list(let list), .integer(let index)):
            guard let position = Int(exactly: index), let element = list.element(at: position) else {
                throw OperationError("The list has \(list.count) elements, and none at \(index).")
            }
            return element
        case (.path(let segments), .integer(let index)):
            guard let position = Int(exactly: index), segments.indices.contains(position) else {
                throw OperationError("The path has \(segments.count) segments, and none at \(index).")
            }
            return .string(segments[position])
        case (.string(let text), .integer(let index)):
            let characters = Array(text.unicodeScalars)
            guard let position = Int(exactly: index), characters.indices.contains(position) else {
                throw OperationError("The string has \(characters.count) characters, and none at \(index).")
            }
            return .string(String(characters[position]))
        default: throw OperationError("A \(value.typeName) has no element at a \(index.typeName).")
        }
    }

    static func slice(
        _ value: RuleValue, _ start: RuleValue, _ end: RuleValue, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        if case .unknown = value { return .unknown(.anything) }
        guard case .integer(let start) = start, case .integer(let end) = end, let start = Int(exactly: start),
            let end = Int(exactly: end), start >= 0, start <= end
        else { throw OperationError("A range is two integers, the first not greater than the second.") }
        switch value {
        case .list(let list):
            guard end <= list.count else { throw OperationError("The list has only \(list.count) elements.") }
            try counter.spend(elements: list.count)
            return .list(.built(Array(list.elements[start..<end])))
        case .string(let text):
            try counter.spend(bytes: text.utf8.count)
            let characters = Array(text.unicodeScalars)
            guard end <= characters.count else {
                throw OperationError("The string has only \(characters.count) characters.")
            }
            var slice = String.UnicodeScalarView()
            slice.append(contentsOf: characters[start..<end])
            return .string(String(slice))
        default: throw .unsupported("ranges", on: value)
        }
    }
}

extension RuleValue {
    /// The value as a float, if it is a number.
    var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .float(let value): value
        default: nil
        }
    }

    var isNaN: Bool { if case .float(let value) = self { value.isNaN } else { false } }

    /// Compares with a value of the same type: negative if this one is less. Nil for types that
    /// have no order, and for different types.
    func order(to other: RuleValue) -> Int? {
        func compare<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a == b ? 0 : 1 }
        if isNaN || other.isNaN { return nil }
        switch (self, other) {
        case (.integer(let a), .integer(let b)): return compare(a, b)
        case (.string(let a), .string(let b)): return UTF8Order.compare(a, b)
        case (.timestamp(let a), .timestamp(let b)): return compare(a, b)
        case (.duration(let a), .duration(let b)): return compare(a, b)
        case (.boolean(let a), .boolean(let b)): return compare(a ? 1 : 0, b ? 1 : 0)
        case (.bytes(let a), .bytes(let b)): return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        default:
            guard let a = number, let b = other.number else { return nil }
            return compare(a, b)
        }
    }
}
