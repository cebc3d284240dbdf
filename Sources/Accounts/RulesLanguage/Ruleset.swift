package import DocumentModel

/// Rules that an operator has written in the Firebase Security Rules language, for documents.
///
/// A request is allowed if one `allow` with its method, in a match that takes its whole path, has no
/// condition or a true one. Reference: https://firebase.google.com/docs/reference/rules/rules
///
/// Rules are not filters: a query is allowed only if a condition is true for every document that the
/// query could return, whatever else is stored.
package struct Ruleset: Sendable {
    private let program: Program

    /// Reads rules.
    ///
    /// - Throws: `RulesSyntaxError` for the first mistake, with its place.
    package init(parsing source: String) throws(RulesSyntaxError) {
        let tree = try Parser.parse(source)
        guard tree.services.contains(where: { $0.name == "cloud.firestore" }) else {
            throw RulesSyntaxError(
                "There is no \"service cloud.firestore\" in these rules.", at: SourcePosition(line: 1, column: 1))
        }
        program = try Resolver.resolve(tree, service: "cloud.firestore")
    }

    /// Decides about a request.
    ///
    /// - Parameter lookup: returns another document that a condition asks for, `.some(nil)` for one
    ///   that does not exist, and nil for one that is not known yet: the decision is then `.needs`.
    package func decide(
        _ request: RulesRequest, lookup: @escaping (NeededDocument) -> Document?? = { _ in .some(nil) }
    ) -> RulesDecision {
        guard let query = request.query else {
            return decide(request, resource: ResourceView.value(of: request.before), lookup)
        }
        guard let alternatives = QueryConstraints.alternatives(of: query) else {
            return .denied([
                RulesFailure(
                    position: SourcePosition(line: 1, column: 1),
                    message: "The query has more than \(QueryConstraints.alternativeLimit) alternatives.")
            ])
        }
        for alternative in alternatives {
            let resource = RuleValue.map(.view(QueryResourceView(alternative)))
            let decision = decide(request, resource: resource, lookup)
            guard case .allowed = decision else { return decision }
        }
        return .allowed
    }

    private func decide(
        _ request: RulesRequest, resource: RuleValue, _ lookup: @escaping (NeededDocument) -> Document??
    ) -> RulesDecision {
        var evaluator = Evaluator(program, request, resource: resource, lookup: lookup)
        var failures: [RulesFailure] = []
        var decision: RulesDecision?
        PathMatcher.search(program, for: request.method, at: request.segments) { allow, captures in
            do throws(Interruption) {
                guard let reason = try Self.reason(against: allow, captures, &evaluator) else {
                    decision = .allowed
                    return true
                }
                failures.append(RulesFailure(position: allow.position, message: reason))
            } catch {
                switch error {
                case .failed(let failure): failures.append(failure)
                case .limited(let failure): decision = .denied(failures + [failure])
                case .needs(let needed): decision = .needs(needed)
                }
            }
            return decision != nil
        }
        return decision ?? .denied(failures)
    }

    /// Returns why a condition does not allow a request; nil if it does.
    private static func reason(
        against allow: Program.Allow, _ captures: [RuleValue], _ evaluator: inout Evaluator
    ) throws(Interruption) -> String? {
        guard let condition = allow.condition else { return nil }
        switch try evaluator.evaluate(condition, in: Evaluator.Frame(captures: captures)) {
        case .boolean(true): return nil
        case .boolean: return "This condition is false."
        case .unknown: return "The query does not prove this condition for every document."
        case let other: return "This condition is a \(other.typeName), not a bool."
        }
    }
}

/// A decision of rules about a request.
package enum RulesDecision: Sendable, Hashable {
    case allowed
    /// Nothing allows the request. The reasons are for the operator who writes the rules, not for
    /// the caller.
    case denied([RulesFailure])
    /// The decision depends on a document. Decide again with it.
    case needs(NeededDocument)
}
