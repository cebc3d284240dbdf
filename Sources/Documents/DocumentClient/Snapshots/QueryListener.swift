import DocumentModel
import SystemIO

/// The state of one subscription: the delivered results, and the changes since.
struct QueryListener {
    let plan: QueryPlan
    /// The target that keeps the results up to date; nil for local results only.
    let target: Int32?
    private(set) var results: [DocumentSnapshot] = []
    private var deliveredFromCache: Bool?
    private var isLoaded = false
    private var dirty: Set<String> = []
    /// The task that waits for the next snapshot.
    var wakeup: AsyncSignal
    /// The reason for which the remote does not watch the query; nil if it does.
    var refusal: RemoteError?

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
        var changes: [QueryChange] = []
        if !isLoaded || !dirty.isEmpty {
            changes = try isLoaded ? changedInPlace(in: replica) ?? reload(from: replica) : reload(from: replica)
        }
        dirty = []
        let isFirst = !isLoaded
        isLoaded = true
        guard isFirst || !changes.isEmpty || deliveredFromCache != isFromCache else { return nil }
        deliveredFromCache = isFromCache
        return QuerySnapshot(documents: results, changes: changes, isFromCache: isFromCache)
    }

    private mutating func reload(from replica: Replica) throws -> [QueryChange] {
        let old = results
        results = try isLoaded && !isWindowed ? updated(from: replica) : replica.reader.results(of: plan)
        return QueryChange.between(old, results)
    }

    /// Whether a change of one document can move another one into the results.
    private var isWindowed: Bool {
        plan.query.limit != nil || plan.query.offset > 0 || plan.query.findNearest != nil
    }

    /// The changed documents that the query is about.
    private func changedNames(in replica: Replica) -> [DocumentName] {
        dirty.compactMap { path in
            guard let name = try? DocumentName(database: replica.databaseName, path: path) else { return nil }
            return plan.isInScope(name) ? name : nil
        }
    }

    /// Replaces results that changed and keep their places, without comparing all others.
    ///
    /// - Returns: The changes; nil if a document enters, leaves or moves, or if many changed. Then
    ///   the results are unchanged.
    private mutating func changedInPlace(in replica: Replica) throws -> [QueryChange]? {
        guard !isWindowed, dirty.count <= Self.fewChanges else { return nil }
        var new: [(index: Int, snapshot: DocumentSnapshot)] = []
        for name in changedNames(in: replica) {
            let snapshot = try replica.snapshot(name)
            let matches = snapshot.exists && plan.matches(snapshot.document)
            let index = results.firstIndex { $0.name.path == name.path }
            guard (index != nil) == matches else { return nil }
            if let index, results[index] != snapshot { new.append((index, snapshot)) }
        }
        guard !new.isEmpty else { return [] }
        var changed = results
        for (index, snapshot) in new { changed[index] = snapshot }
        for (index, snapshot) in new {
            let document = snapshot.document
            if index > 0, plan.compare(changed[index - 1].document, document) > 0 { return nil }
            if index + 1 < changed.count, plan.compare(document, changed[index + 1].document) > 0 { return nil }
        }
        results = changed
        return new.sorted { $0.index < $1.index }.map {
            QueryChange(kind: .modified, document: $0.snapshot, oldIndex: $0.index, newIndex: $0.index)
        }
    }

    /// The number of changed documents up to which they are looked for one by one.
    private static let fewChanges = 8

    /// Returns the results with the changed documents in their new places.
    private func updated(from replica: Replica) throws -> [DocumentSnapshot] {
        let names = changedNames(in: replica)
        guard !names.isEmpty else { return results }
        let paths = Set(names.map(\.path))
        var kept = results.filter { !paths.contains($0.name.path) }.map { ($0, $0.document) }
        let count = kept.count
        for name in names {
            let snapshot = try replica.snapshot(name)
            guard snapshot.exists else { continue }
            let document = snapshot.document
            if plan.matches(document) { kept.append((snapshot, document)) }
        }
        if kept.count > count || count < results.count { kept.sort { plan.compare($0.1, $1.1) < 0 } }
        return kept.map(\.0)
    }
}
