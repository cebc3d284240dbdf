import DocumentModel
import FirestoreProtocol

extension ListenMachine.Selection {
    /// Creates a selection. Throws if it cannot be listened to, with production's message.
    init(checking selection: ListenTarget.Selection, in database: DatabaseName) throws {
        switch selection {
        case .query(let query):
            let plan = try QueryPlan(query)
            try DocumentStoreError.checkDatabase(query.parent.database, is: database)
            guard !plan.isKindless else {
                throw DocumentStoreError(
                    .invalidArgument, "All-collection queries are not supported by real-time queries.")
            }
            guard !query.allDescendants || query.parent.path.isEmpty else {
                throw DocumentStoreError(
                    .invalidArgument,
                    "'all_descendants' in CollectionSelector with document parent is not supported by real-time queries."
                )
            }
            guard query.findNearest == nil else {
                throw DocumentStoreError(.invalidArgument, "Vector searches are not supported by real-time queries.")
            }
            self = .query(plan)
        case .documents(let names):
            for name in names { try DocumentStoreError.checkDatabase(name.database, is: database) }
            self = .documents(names)
        }
    }

    /// Whether a document with this name may belong to the selection.
    func isInScope(_ name: DocumentName) -> Bool {
        switch self {
        case .query(let plan): plan.isInScope(name)
        case .documents(let names): names.contains(name)
        }
    }

    /// Whether a document whose name is in scope belongs to the selection. Decodes only the fields that decide it.
    func contains(_ document: EncodedDocument?) throws -> Bool {
        guard let document else { return false }
        guard case .query(let plan) = self else { return true }
        return plan.matches(try QueryMatch(document, plan).document)
    }
}

extension ListenMachine {
    /// The maximum number of targets of a stream. Each costs memory, and time for every commit that
    /// may concern it.
    static let maximumTargets = 1000

    static func checkAdding(_ target: ListenTarget, to ids: [Int32]) throws(DocumentStoreError) {
        guard !ids.contains(target.id) else {
            throw DocumentStoreError(.alreadyExists, "Target ID already exists: \(target.id)")
        }
        guard ids.count < maximumTargets else {
            throw DocumentStoreError(
                .resourceExhausted,
                "The stream has \(maximumTargets) targets already. Remove some, or open another stream.")
        }
    }
}

extension DocumentStoreError {
    static func checkDatabase(_ named: DatabaseName, is database: DatabaseName) throws(DocumentStoreError) {
        guard named != database else { return }
        throw DocumentStoreError(
            .invalidArgument,
            "The request was for database '\(database)' but was attempting to access database '\(named)'")
    }
}
