import DocumentModel

/// The methods of lists and sets.
enum ListMethods {
    /// The most elements of a list that a method makes.
    static let elementLimit = 100_000

    static func call(
        _ name: String, on list: RuleValue.List, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        try counter.spend(elements: list.count)
        switch name {
        case "size": return .integer(Int64(list.count))
        case "toSet": return .set(Set(list.elements))
        case "concat":
            let other = try elements(of: arguments.first, &counter)
            guard list.count + other.count <= elementLimit else {
                throw OperationError("This list would have more than \(elementLimit) elements.")
            }
            return .list(.built(list.elements + other))
        case "removeAll":
            let removed = Set(try elements(of: arguments.first, &counter))
            return .list(.built(list.elements.filter { !removed.contains($0) }))
        case "join": return .string(try joined(list, by: arguments.first, &counter))
        case "hasAll", "hasAny", "hasOnly":
            return try test(name, Set(list.elements), arguments.first, &counter)
        default: throw .unsupported("method \"\(name)\"", on: .list(list))
        }
    }

    static func call(
        _ name: String, on set: Set<RuleValue>, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        try counter.spend(elements: set.count)
        switch name {
        case "size": return .integer(Int64(set.count))
        case "hasAll", "hasAny", "hasOnly": return try test(name, set, arguments.first, &counter)
        case "difference", "intersection", "union":
            guard case .set(let other)? = arguments.first else { throw OperationError("\"\(name)\" takes a set.") }
            try counter.spend(elements: other.count)
            switch name {
            case "difference": return .set(set.subtracting(other))
            case "intersection": return .set(set.intersection(other))
            default: return .set(set.union(other))
            }
        default: throw .unsupported("method \"\(name)\"", on: .set(set))
        }
    }

    /// Calls a method of a value that a query leaves open.
    static func call(
        _ name: String, on unknown: RuleValue.Unknown, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        guard name == "hasAny" || name == "hasAll", let argument = arguments.first else { return .unknown(.anything) }
        let asked = try elements(of: argument, &counter)
        let isProven =
            name == "hasAny"
            ? asked.contains { unknown.contains($0) == true } : asked.allSatisfy { unknown.contains($0) == true }
        return isProven ? .boolean(true) : .unknown(.anything)
    }

    private static func test(
        _ name: String, _ set: Set<RuleValue>, _ argument: RuleValue?, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        let other = Set(try elements(of: argument, &counter))
        switch name {
        case "hasAll": return .boolean(other.isSubset(of: set))
        case "hasAny": return .boolean(!other.isDisjoint(with: set))
        default: return .boolean(set.isSubset(of: other))
        }
    }

    /// The elements of a list or a set.
    private static func elements(
        of value: RuleValue?, _ counter: inout WorkCounter
    ) throws(OperationError) -> [RuleValue] {
        switch value {
        case .list(let list)?:
            try counter.spend(elements: list.count)
            return list.elements
        case .set(let set)?:
            try counter.spend(elements: set.count)
            return Array(set)
        default: throw OperationError("This method takes a list or a set.")
        }
    }

    private static func joined(
        _ list: RuleValue.List, by separator: RuleValue?, _ counter: inout WorkCounter
    ) throws(OperationError) -> String {
        guard case .string(let separator)? = separator else { throw OperationError("\"join\" takes a string.") }
        var text = ""
        for (index, element) in list.elements.enumerated() {
            guard case .string(let part) = try Conversions.convert(element, to: .string) else {
                throw OperationError("This list has an element that is no text.")
            }
            guard text.utf8.count + separator.utf8.count + part.utf8.count <= Operators.stringLimit else {
                throw OperationError("This string would be longer than \(Operators.stringLimit) bytes.")
            }
            text += index == 0 ? part : separator + part
        }
        try counter.spend(bytes: text.utf8.count)
        return text
    }
}
