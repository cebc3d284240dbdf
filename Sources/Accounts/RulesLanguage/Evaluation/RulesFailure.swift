package import DocumentModel

/// The reason why a condition did not allow a request.
package struct RulesFailure: Sendable, Hashable, CustomStringConvertible {
    /// The place in the rules.
    package let position: SourcePosition
    /// The reason, as a sentence.
    package let message: String

    package var description: String { "\(position): \(message)" }
}

/// A document that a decision needs and was not given.
package struct NeededDocument: Sendable, Hashable {
    /// The document's name.
    package let name: DocumentName
    /// Whether it is needed as the commit leaves it, rather than as it was before.
    package let after: Bool

    package init(_ name: DocumentName, after: Bool) {
        self.name = name
        self.after = after
    }
}

/// The end of an evaluation without a value.
enum Interruption: Error {
    /// The expression has no value. `&&` and `||` may still have one.
    case failed(RulesFailure)
    /// The whole decision ends: a limit was reached.
    case limited(RulesFailure)
    /// The decision cannot go on without a document.
    case needs(NeededDocument)
}

/// An operation that has no value for its operands; the evaluator adds the position.
struct OperationError: Error {
    let message: String
    /// Whether a limit was reached, so that the decision ends.
    let isLimit: Bool

    init(_ message: String, isLimit: Bool = false) {
        self.message = message
        self.isLimit = isLimit
    }

    /// An operation that a type does not have.
    static func unsupported(_ operation: String, on value: RuleValue) -> OperationError {
        OperationError("A \(value.typeName) has no \(operation).")
    }
}
