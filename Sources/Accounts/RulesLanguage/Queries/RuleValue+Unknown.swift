import DocumentModel

extension RuleValue {
    /// A field whose value differs among the documents that a query may return, with the conditions
    /// that the query sets for it.
    struct Unknown: Sendable {
        /// The conditions that hold for each of the documents.
        var conditions: [Condition]

        /// One condition of a query on a field.
        enum Condition: Sendable {
            /// Equality of numbers. Firestore finds 3 and 3.0 by either, so the type stays open.
            case equal(RuleValue)
            case less(RuleValue)
            case lessOrEqual(RuleValue)
            case greater(RuleValue)
            case greaterOrEqual(RuleValue)
            case notEqual(RuleValue)
            case contains(RuleValue)
            /// The field exists, with any value.
            case exists
        }

        /// A value that may be anything, or absent.
        static let anything = Unknown(conditions: [])
        /// A value that is there, such as the id of a document.
        static let present = Unknown(conditions: [.exists])

        /// Whether every value that satisfies the conditions compares so with `value`; false if none
        /// does, nil if some do.
        func compare(_ comparison: BinaryOperator, _ value: RuleValue) -> Bool? {
            switch comparison {
            case .equal: isExactly(value) ? true : isOutside(value) ? false : nil
            case .notEqual: compare(.equal, value).map { !$0 }
            case .less: isProven(below: value, orEqual: false) ?? isProven(above: value, orEqual: true).map { !$0 }
            case .lessOrEqual:
                isProven(below: value, orEqual: true) ?? isProven(above: value, orEqual: false).map { !$0 }
            case .greater: isProven(above: value, orEqual: false) ?? isProven(below: value, orEqual: true).map { !$0 }
            case .greaterOrEqual:
                isProven(above: value, orEqual: true) ?? isProven(below: value, orEqual: false).map { !$0 }
            default: nil
            }
        }

        /// Whether every value that satisfies the conditions is a list that contains `value`; nil if
        /// that is open.
        func contains(_ value: RuleValue) -> Bool? {
            for case .contains(value) in conditions { return true }
            return nil
        }

        /// Whether every value that satisfies the conditions has the type; nil if that is open.
        func has(_ type: RuleType) -> Bool? {
            for condition in conditions {
                switch condition {
                case .equal(let bound), .less(let bound), .lessOrEqual(let bound), .greater(let bound),
                    .greaterOrEqual(let bound):
                    // Firestore compares values of one type only; integers and floats are one type.
                    switch bound {
                    case .integer, .float:
                        if type == .number { return true }
                        if type != .integer && type != .float { return false }
                    default: return type.includes(bound)
                    }
                case .contains: return type == .list
                case .notEqual, .exists: break
                }
            }
            return nil
        }

        private func isExactly(_ value: RuleValue) -> Bool {
            conditions.contains { if case .equal(value) = $0 { true } else { false } }
        }

        private func isOutside(_ value: RuleValue) -> Bool {
            /// Values of another type than the bound's are outside. Types without an order here, such
            /// as lists, have one in Firestore.
            func isOutside(_ bound: RuleValue, _ test: (Int) -> Bool) -> Bool {
                if let order = value.order(to: bound) { return test(order) }
                return value.typeName != bound.typeName && (value.number == nil || bound.number == nil)
            }
            return conditions.contains { condition in
                switch condition {
                case .equal(let other): value != other
                case .less(let bound): isOutside(bound) { $0 >= 0 }
                case .lessOrEqual(let bound): isOutside(bound) { $0 > 0 }
                case .greater(let bound): isOutside(bound) { $0 <= 0 }
                case .greaterOrEqual(let bound): isOutside(bound) { $0 < 0 }
                case .notEqual(let other): value == other
                case .contains, .exists: false
                }
            }
        }

        private func isProven(below value: RuleValue, orEqual: Bool) -> Bool? {
            let isProven = conditions.contains { condition in
                switch condition {
                case .less(let bound): bound.order(to: value).map { $0 <= 0 } ?? false
                case .equal(let bound), .lessOrEqual(let bound):
                    bound.order(to: value).map { $0 < 0 || orEqual && $0 == 0 } ?? false
                default: false
                }
            }
            return isProven ? true : nil
        }

        private func isProven(above value: RuleValue, orEqual: Bool) -> Bool? {
            let isProven = conditions.contains { condition in
                switch condition {
                case .greater(let bound): bound.order(to: value).map { $0 >= 0 } ?? false
                case .equal(let bound), .greaterOrEqual(let bound):
                    bound.order(to: value).map { $0 > 0 || orEqual && $0 == 0 } ?? false
                default: false
                }
            }
            return isProven ? true : nil
        }
    }

    /// Whether the value may be absent from a document that the query finds, so that an expression
    /// with it has no value there. Each condition of a query finds only documents with the field.
    var mayBeAbsent: Bool { if case .unknown(let unknown) = self { unknown.conditions.isEmpty } else { false } }

    /// Whether a query leaves the value or a part of it open.
    var isOpen: Bool {
        switch self {
        case .unknown: true
        case .list(.built(let elements)): elements.contains(where: \.isOpen)
        case .map(.built(let entries)): entries.values.contains(where: \.isOpen)
        case .map(.view(let view)): view.entries == nil
        default: false
        }
    }
}

/// The fields of the documents that a query may return, below one path.
final class OpenMap: RuleMapView {
    private let constraints: QueryConstraints
    private let path: [String]
    let entries: [String: RuleValue]? = nil

    init(_ constraints: QueryConstraints, path: [String]) {
        self.constraints = constraints
        self.path = path
    }

    /// Returns what is known of a key. The key may be there, so nil is never returned.
    func value(of key: String) -> RuleValue? { constraints.value(at: path + [key]) }

    /// Whether each of the documents has a key here; nil if that is open.
    func hasKey(_ key: String) -> Bool? { constraints.demands(path + [key]) ? true : nil }
}
