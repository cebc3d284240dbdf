import DocumentModel
import FirestoreProtocol

/// Every version of every document, in memory. The plainest answer to each question a store is asked.
struct DocumentHistory {
    /// Versions of a document, oldest first; nil where it was deleted.
    private var versions: [DocumentName: [(time: Timestamp, document: Document?)]] = [:]

    func document(_ name: DocumentName, at time: Timestamp) -> Document? {
        versions[name]?.last { $0.time <= time }?.document
    }

    func documents(at time: Timestamp) -> [Document] {
        versions.values.compactMap { $0.last { $0.time <= time }?.document }
    }

    func results(_ plan: QueryPlan, at time: Timestamp) -> QueryPlan.Results {
        plan.results(among: documents(at: time))
    }

    mutating func append(_ effects: [CommitEffects.Effect], at time: Timestamp) {
        for effect in effects { versions[effect.name, default: []].append((time, effect.after)) }
    }
}
