import DocumentModel
import FirestoreProtocol

/// The results of a query among documents that were changed after its read time, as they were at
/// that time.
///
/// A scan of the newest versions skips those newer than the read time and uses these instead. The
/// set grows while a query is read page by page and commits continue.
struct PastVersions: Sendable {
    let plan: QueryPlan
    let readTime: Int64
    /// The time up to which changes are known.
    private var through: Int64
    private var seen = Set<DocumentName>()
    /// The matching documents in the order of the results.
    private(set) var documents: [Document] = []

    init(plan: QueryPlan, readTime: Int64) {
        self.plan = plan
        self.readTime = readTime
        through = readTime
    }

    /// Adds the changes up to `visible`, except documents that do not come after `last`.
    mutating func extend(through visible: Int64, after last: EncodedDocument?, in snapshot: any StoreSnapshot) throws {
        guard visible > through else { return }
        let last = try last.map(Document.init)
        var changed: [(name: DocumentName, collection: Int64, id: [UInt8])] = []
        try snapshot.readChangedDocuments(after: through, through: visible) { collection, id in
            let name = try snapshot.name(collection: collection, id: id)
            if plan.isInScope(name), seen.insert(name).inserted { changed.append((name, collection, id)) }
            return true
        }
        through = visible
        var found: [Document] = []
        for (name, collection, id) in changed {
            guard let encoded = try snapshot.document(name, collection: collection, id: id, at: readTime) else {
                continue
            }
            let document = try Document(encoded)
            guard plan.matches(document) else { continue }
            if let last, plan.compare(document, last) <= 0 { continue }
            found.append(document)
        }
        guard !found.isEmpty else { return }
        documents = (documents + found).sorted { plan.compare($0, $1) < 0 }
    }

    /// Excludes documents that were read ahead in their version at the read time, even if they
    /// change now.
    mutating func leaveOut(_ names: [DocumentName]) { seen.formUnion(names) }

    /// Removes and returns the documents that come before `next`; all of them if `next` is nil.
    mutating func take(before next: Document?) -> [Document] {
        guard let next else {
            defer { documents = [] }
            return documents
        }
        let count = documents.firstIndex { plan.compare($0, next) >= 0 } ?? documents.count
        defer { documents.removeFirst(count) }
        return Array(documents[..<count])
    }
}
