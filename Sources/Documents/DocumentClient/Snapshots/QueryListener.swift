import DocumentModel
import SystemIO

/// The state of one subscription: the delivered results, and the changes since.
struct QueryListener {
    let plan: QueryPlan
    /// The target that keeps the results up to date; nil for local results only.
    let target: Int32?
    private(set) var results: [DocumentSnapshot] = []
    private(set) var delivered: [DocumentSnapshot] = []
    private var deliveredFromCache: Bool?
    private var isLoaded = false
    private var dirty: Set<String> = []
    /// The task that waits for the next snapshot.
    var wakeup: AsyncSignal

    init(plan: QueryPlan, target: Int32?, wakeup: AsyncSignal) {
        self.plan = plan
        self.target = target
        self.wakeup = wakeup
    }

    mutating func note(_ paths: Set<String>) {
        guard isLoaded else { return }
        dirty.formUnion(paths)
    }

    /// Returns the next snapshot to deliver; nil if nothing changed.
    mutating func next(from replica: Replica, isFromCache: Bool) throws -> QuerySnapshot? {
        if !isLoaded || (!dirty.isEmpty && isWindowed) {
            results = try replica.reader.results(of: plan)
        } else if !dirty.isEmpty {
            try update(from: replica)
        }
        dirty = []
        let isFirst = !isLoaded
        isLoaded = true
        let changes = QueryChange.between(delivered, results)
        guard isFirst || !changes.isEmpty || deliveredFromCache != isFromCache else { return nil }
        delivered = results
        deliveredFromCache = isFromCache
        return QuerySnapshot(documents: results, changes: changes, isFromCache: isFromCache)
    }

    /// Whether a change of one document can move another one into the results.
    private var isWindowed: Bool { plan.query.limit != nil || plan.query.offset > 0 }

    private mutating func update(from replica: Replica) throws {
        let inScope = dirty.filter { path in
            (try? DocumentName(database: replica.databaseName, path: path)).map(plan.isInScope) ?? false
        }
        guard !inScope.isEmpty else { return }
        var kept = results.filter { !inScope.contains($0.name.path) }.map { ($0, $0.document) }
        let count = kept.count
        for path in inScope {
            let name = try DocumentName(database: replica.databaseName, path: path)
            let snapshot = try replica.snapshot(name)
            guard snapshot.exists else { continue }
            let document = snapshot.document
            if plan.matches(document) { kept.append((snapshot, document)) }
        }
        if kept.count > count || count < results.count { kept.sort { plan.compare($0.1, $1.1) < 0 } }
        results = kept.map(\.0)
    }
}
