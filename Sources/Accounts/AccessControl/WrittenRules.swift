package import DocumentModel
package import DocumentStore
package import FirestoreProtocol
package import FirestoreServer
import JSON
package import RulesLanguage

/// Applies rules that the operator has written, in place of the built-in ones.
///
/// The rules decide about documents alone. Quotas, and who may read whose objects, stay as they are.
package struct WrittenRules: RulesPolicy {
    /// Returns the rules in force. They may change between two requests.
    private let rules: @Sendable () -> Ruleset
    private let now: @Sendable () -> Timestamp
    package let objects: SharedObjects?
    package let quotas: AccountQuotas?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - rules: returns the rules in force.
    ///   - now: returns the time that reads see as `request.time`. Writes see the commit's time.
    package init(
        objects: SharedObjects? = nil, quotas: AccountQuotas? = nil, rules: @escaping @Sendable () -> Ruleset,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.objects = objects
        self.quotas = quotas
        self.rules = rules
        self.now = now
    }

    // MARK: Reads

    package func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], at moment: ReadMoment,
        in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        var known = KnownDocuments(store: store, moment: moment)
        for (name, document) in zip(names, documents) {
            let request = RulesRequest(
                .get, name, by: caller.authentication, at: now(), before: try document?.decoded())
            try await check(request, &known)
        }
    }

    package func check(
        list query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        try await check(watched: query, asOf: past, in: store, by: caller)
        guard let past, caller != .administrator else { return }
        try await check(resultsOf: query, asOf: past, in: store, by: caller)
    }

    package func check(
        watched query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        for moment in [.strong] + (past.map { [ReadMoment.at($0)] } ?? []) {
            var known = KnownDocuments(store: store, moment: moment)
            try await check(RulesRequest(query, by: caller.authentication, at: now()), &known)
        }
    }

    /// A listing is a query of every collection below the parent.
    package func check(
        listing parent: ParentName, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        let query = Query(parent: parent, collectionID: nil)
        try await check(watched: query, asOf: past, in: store, by: caller)
    }

    /// Rules may depend on the time and on other documents, and may be replaced.
    package func allowsForEver(_ query: Query, by caller: Caller) throws -> Bool { caller == .administrator }

    private func check(_ request: RulesRequest, _ known: inout KnownDocuments) async throws {
        let rules = rules()
        while true {
            switch rules.decide(request, lookup: { [known] in known[$0] }) {
            case .allowed: return
            case .denied: throw DocumentStoreError.permissionDenied
            case .needs(let needed): try await known.fetch(needed)
            }
        }
    }

    // MARK: Writes

    package func review(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> any CommitReview {
        let readable = try await readableReferences(in: writes, store, by: caller)
        return RulesReview(self, caller: caller, database: store.database, readable: readable)
    }

    package func check(_ commit: borrowing ProposedCommit, by caller: Caller) throws {
        guard caller != .administrator else { return }
        let rules = rules()
        var known: [NeededDocument: Document?] = [:]
        for change in commit.changes {
            let request = RulesRequest(
                change.method, change.write.name, by: caller.authentication, at: commit.time, before: change.before,
                after: change.after)
            var decision = rules.decide(request) { [known] in known[$0] }
            while case .needs(let needed) = decision {
                known[needed] = .some(needed.after ? try commit.getAfter(needed.name) : try commit.get(needed.name))
                decision = rules.decide(request) { [known] in known[$0] }
            }
            guard decision == .allowed else { throw DocumentStoreError.permissionDenied }
        }
    }
}

/// The other documents that conditions have asked for, as of one moment.
private struct KnownDocuments {
    private let store: any DocumentStore
    private let moment: ReadMoment
    private var documents: [DocumentName: Document?] = [:]

    init(store: any DocumentStore, moment: ReadMoment) {
        self.store = store
        self.moment = moment
    }

    /// Nothing changes by a read, so a document is the same before and after it.
    subscript(needed: NeededDocument) -> Document?? { documents[needed.name] }

    mutating func fetch(_ needed: NeededDocument) async throws {
        let found = try await store.get([needed.name], at: moment).documents.first ?? nil
        documents[needed.name] = .some(try found?.decoded())
    }
}

extension ProposedChange {
    /// The method by which rules know this change.
    fileprivate var method: RulesMethod {
        if case .verify = write.operation { return .get }
        return after == nil ? .delete : before == nil ? .create : .update
    }
}

extension Caller {
    /// `request.auth` of the caller's requests, with all claims of the token.
    fileprivate var authentication: RulesAuthentication? {
        guard case .user(let id, _, let address, let claims) = self else { return nil }
        return RulesAuthentication(userID: id, token: Self.token(id, address, claims))
    }

    private static func token(_ id: String, _ address: String?, _ claims: JSONObject) -> [String: Value] {
        var token = claims.members.reduce(into: [String: Value]()) { $0[$1.key] = Value(claim: $1.value) }
        (token["sub"], token["user_id"]) = (.string(id), .string(id))
        if let address { token["email"] = .string(address) }
        return token
    }
}

extension Value {
    /// Creates the value that rules see of a claim.
    fileprivate init(claim json: JSON) {
        self =
            switch json {
            case .null: .null
            case .boolean(let flag): .boolean(flag)
            case .integer(let number): .integer(number)
            case .number(let number): .double(number)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { Value(claim: $0) })
            case .object(let members):
                .map(members.members.reduce(into: [:]) { $0[$1.key] = Value(claim: $1.value) })
            }
    }
}
