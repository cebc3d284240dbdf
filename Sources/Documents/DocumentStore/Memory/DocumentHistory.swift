import DocumentModel
import FirestoreProtocol

/// Every version of every document, in memory. The simplest correct implementation of each read.
struct DocumentHistory {
    /// The versions of a document, oldest first; nil where it was deleted.
    private var versions: [DocumentName: [(time: Timestamp, document: Document?)]] = [:]
    /// The documents that each commit changed, oldest first.
    private var changes: [(time: Timestamp, names: [DocumentName])] = []

    func document(_ name: DocumentName, at time: Timestamp) -> Document? {
        versions[name]?.last { $0.time <= time }?.document
    }

    func documents(at time: Timestamp) -> [Document] {
        versions.values.compactMap { $0.last { $0.time <= time }?.document }
    }

    func results(_ plan: QueryPlan, at time: Timestamp) -> QueryPlan.Results {
        plan.results(among: documents(at: time))
    }

    /// Returns the documents that commits have changed after a time.
    func names(changedAfter time: Timestamp) -> Set<DocumentName> {
        changes.reversed().prefix { $0.time > time }.reduce(into: []) { $0.formUnion($1.names) }
    }

    func hasCommit(at time: Timestamp) -> Bool { changes.contains { $0.time == time } }

    mutating func forget(after time: Timestamp) {
        for name in versions.keys { versions[name]?.removeAll { $0.time > time } }
        changes.removeAll { $0.time > time }
    }

    mutating func append(_ effects: [CommitEffects.Effect], at time: Timestamp) {
        changes.append((time, effects.map(\.name)))
        for effect in effects { versions[effect.name, default: []].append((time, effect.after)) }
    }
}
