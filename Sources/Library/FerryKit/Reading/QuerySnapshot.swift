import DocumentClient
import DocumentModel

/// The results of a query at one time, and how they differ from the results before.
public struct QuerySnapshot<Model: DocumentModel>: RandomAccessCollection, Sendable {
    private let documents: [Document<Model>]
    private let before: [Document<Model>]
    /// Whether the server may have other results.
    public let isFromCache: Bool
    /// Whether a document has changes that the server does not have yet.
    public let hasPendingWrites: Bool
    /// The positions of documents that are new.
    public let insertions: [Int]
    /// The positions of documents that were in the results before and have changed or moved.
    public let modifications: [Int]
    /// The positions that documents had before and that have left the results.
    public let deletions: [Int]
    /// The documents that match the query and do not fit the model. They are not in the collection.
    public let undecodable: [Undecodable]

    /// A document that does not fit its model.
    public struct Undecodable: Sendable {
        /// The path of the document.
        public let path: String
        /// The error that names the property.
        public let error: any Error
    }

    init(
        _ documents: [Document<Model>], before: [Document<Model>], isFromCache: Bool, hasPendingWrites: Bool,
        insertions: [Int], modifications: [Int], deletions: [Int], undecodable: [Undecodable]
    ) {
        self.documents = documents
        self.before = before
        self.isFromCache = isFromCache
        self.hasPendingWrites = hasPendingWrites
        self.insertions = insertions
        self.modifications = modifications
        self.deletions = deletions
        self.undecodable = undecodable
    }

    /// The position of the first document.
    public var startIndex: Int { 0 }
    /// The position after the last document.
    public var endIndex: Int { documents.count }
    /// The document at a position.
    public subscript(index: Int) -> Document<Model> { documents[index] }

    /// The difference of the ids from those of the results before, in the form that list views apply.
    public var difference: CollectionDifference<String> {
        documents.map(\.id).difference(from: before.map(\.id)).inferringMoves()
    }
}

/// Decodes the successive results of a query. A document that has not changed is not decoded again.
struct QueryResults<Model: DocumentModel> {
    private let ferry: Ferry
    private let isReversed: Bool
    private var documents: [Document<Model>] = []
    private var undecodable: [QuerySnapshot<Model>.Undecodable] = []
    private var pendingCount = 0

    init(ferry: Ferry, isReversed: Bool) {
        self.ferry = ferry
        self.isReversed = isReversed
    }

    mutating func updated(_ snapshot: DocumentClient.QuerySnapshot) -> QuerySnapshot<Model> {
        if !isReversed, undecodable.isEmpty, documents.count == snapshot.documents.count,
            let inPlace = updatedInPlace(snapshot)
        {
            return inPlace
        }
        return rebuilt(snapshot.documents, snapshot.changes, isFromCache: snapshot.isFromCache)
    }

    /// Decodes results that are read once.
    mutating func read(_ found: [DocumentSnapshot], isFromCache: Bool) -> QuerySnapshot<Model> {
        rebuilt(found, [], isFromCache: isFromCache)
    }

    /// Replaces documents that changed and kept their positions; nil if there are other changes.
    private mutating func updatedInPlace(_ snapshot: DocumentClient.QuerySnapshot) -> QuerySnapshot<Model>? {
        var changed: [(Int, Document<Model>)] = []
        for change in snapshot.changes {
            guard change.kind == .modified, let index = change.newIndex, index == change.oldIndex,
                let document = try? Document<Model>(change.document, in: ferry), documents.indices.contains(index)
            else { return nil }
            changed.append((index, document))
        }
        let before = documents
        for (index, document) in changed {
            if documents[index].state != .ordered { pendingCount -= 1 }
            if document.state != .ordered { pendingCount += 1 }
            documents[index] = document
        }
        return QuerySnapshot(
            documents, before: before, isFromCache: snapshot.isFromCache, hasPendingWrites: pendingCount > 0,
            insertions: [], modifications: changed.map(\.0), deletions: [], undecodable: [])
    }

    private mutating func rebuilt(
        _ new: [DocumentSnapshot], _ differences: [QueryChange], isFromCache: Bool
    ) -> QuerySnapshot<Model> {
        let before = documents
        let known = Dictionary(
            before.enumerated().map { ($1.reference.path, $0) }, uniquingKeysWith: { first, _ in first })
        let changed =
            before.isEmpty ? [] : Set(differences.lazy.filter { $0.kind != .removed }.map(\.document.name.path))
        var (insertions, modifications): ([Int], [Int]) = ([], [])
        var kept = Set<Int>()
        documents = []
        undecodable = []
        documents.reserveCapacity(new.count)
        for found in isReversed ? new.reversed() : new {
            let path = found.name.path
            let old = known[path]
            if let old, !changed.contains(path) {
                kept.insert(old)
                documents.append(before[old])
                continue
            }
            do {
                guard let document = try Document<Model>(found, in: ferry) else { continue }
                if let old { kept.insert(old) }
                if old == nil { insertions.append(documents.count) } else { modifications.append(documents.count) }
                documents.append(document)
            } catch {
                undecodable.append(.init(path: path, error: error))
            }
        }
        pendingCount = documents.count { $0.state != .ordered }
        return QuerySnapshot(
            documents, before: before, isFromCache: isFromCache,
            hasPendingWrites: pendingCount > 0 || new.contains(where: \.hasPendingWrites), insertions: insertions,
            modifications: modifications, deletions: before.indices.filter { !kept.contains($0) },
            undecodable: undecodable)
    }
}
