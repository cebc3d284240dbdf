import DocumentModel

extension RuleValue {
    /// A field whose value differs among the documents that a query may return, with the conditions
    /// that the query sets for it.
    struct Unknown: Sendable {
        /// The conditions that hold for each of the documents.
        var conditions: [Condition]

        /// One condition of a query on a field.
        enum Condition: Sendable {
            case less(RuleValue)
            case lessOrEqual(RuleValue)
            case greater(RuleValue)
            case greaterOrEqual(RuleValue)
            case notEqual(RuleValue)
            case contains(RuleValue)
            /// The field exists, with any value.
            case exists
        }

        static let anything = RuleValue.Unknown(conditions: [])

        /// Whether every value that satisfies the conditions compares so with `value`; false if none
        /// does, nil if some do.
        func compare(_ comparison: BinaryOperator, _ value: RuleValue) -> Bool? {
            switch comparison {
            case .equal: isOutside(value) ? false : nil
            case .notEqual: isOutside(value) ? true : nil
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
                case .less(let bound), .lessOrEqual(let bound), .greater(let bound), .greaterOrEqual(let bound):
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

        private func isOutside(_ value: RuleValue) -> Bool {
            conditions.contains { condition in
                switch condition {
                case .less(let bound): Self.order(value, bound).map { $0 >= 0 } ?? true
                case .lessOrEqual(let bound): Self.order(value, bound).map { $0 > 0 } ?? true
                case .greater(let bound): Self.order(value, bound).map { $0 <= 0 } ?? true
                case .greaterOrEqual(let bound): Self.order(value, bound).map { $0 < 0 } ?? true
                case .notEqual(let other): value == other
                case .contains, .exists: false
                }
            }
        }

        private func isProven(below value: RuleValue, orEqual: Bool) -> Bool? {
            let isProven = conditions.contains { condition in
                switch condition {
                case .less(let bound): Self.order(bound, value).map { $0 <= 0 } ?? false
                case .lessOrEqual(let bound): Self.order(bound, value).map { $0 < 0 || orEqual && $0 == 0 } ?? false
                default: false
                }
            }
            return isProven ? true : nil
        }

        private func isProven(above value: RuleValue, orEqual: Bool) -> Bool? {
            let isProven = conditions.contains { condition in
                switch condition {
                case .greater(let bound): Self.order(bound, value).map { $0 >= 0 } ?? false
                case .greaterOrEqual(let bound): Self.order(bound, value).map { $0 > 0 || orEqual && $0 == 0 } ?? false
                default: false
                }
            }
            return isProven ? true : nil
        }

        /// Compares two values of one type; nil for others.
        private static func order(_ left: RuleValue, _ right: RuleValue) -> Int? { left.order(to: right) }
    }
}

/// The fields of the documents that a query may return, below one path.
struct OpenMap: RuleMapView {
    let constraints: QueryConstraints
    let path: [String]

    let entries: [String: RuleValue]? = nil

    /// Returns what is known of a key. The key may be there, so nil is never returned.
    func value(of key: String) -> RuleValue? { constraints.value(at: path + [key]) }

    /// Whether each of the documents has a key here; nil if that is open.
    func hasKey(_ key: String) -> Bool? { constraints.demands(path + [key]) ? true : nil }
}
