import DocumentClient
import DocumentCoding
import DocumentModel
import Merge
import Synchronization

/// The rules by which changes of several machines to one document are merged.
///
///     static var merging: Merging<Item> { Merging().text(\.notes).set(\.tags) }
public struct Merging<Model>: Sendable {
    private enum Kind: Sendable { case text, set }

    private var fields: [(path: Result<FieldPath, any Error>, kind: Kind)] = []
    private(set) var historyCollection: String?

    /// Merges field by field.
    public init() {}

    /// Merges a field line by line, so that edits of different lines are all kept.
    public func text(_ field: any KeyPath<Model, String> & Sendable) -> Merging { adding(field, .text) }

    /// Merges a field line by line, so that edits of different lines are all kept. No field is the same
    /// as no line.
    public func text(_ field: any KeyPath<Model, String?> & Sendable) -> Merging { adding(field, .text) }

    /// Merges a field element by element: what one side added or removed is added or removed.
    public func set<Element>(_ field: any KeyPath<Model, [Element]> & Sendable) -> Merging { adding(field, .set) }

    /// Keeps values that a merge displaced as documents of a collection below the document.
    public func history(_ collection: String) -> Merging {
        var copy = self
        copy.historyCollection = collection
        return copy
    }

    private func adding<Content>(_ field: any KeyPath<Model, Content> & Sendable, _ kind: Kind) -> Merging {
        var copy = self
        copy.fields.append((Result { try FieldNames.path(of: field) }, kind))
        return copy
    }

    /// Returns the policy with these rules.
    ///
    /// - Throws: `FieldNameError` for a key path that is no field.
    func policy() throws -> any RebasePolicy {
        guard !fields.isEmpty else { return FieldwisePolicy(historyCollection: historyCollection) }
        var kinds: [String: MergePolicy.Kind] = [:]
        for field in fields { kinds[FlatFields.key(of: try field.path.get())] = field.kind == .text ? .text : .set }
        // The owner is what the rules of ferry-server require of each document.
        return NestedMergingPolicy(
            MergingPolicy(
                MergePolicy(kinds: kinds), historyCollection: historyCollection, copiedFields: ["userId"]))
    }
}

/// The policies of the models in use. Models are registered when an app first uses them.
final class MergingPolicies: RebasePolicy {
    private let policies = Mutex<[String: any RebasePolicy]>([:])
    private let collections = Mutex<Set<Collection>>([])

    /// A collection of documents.
    struct Collection: Hashable {
        let id: String
        /// Whether it is at the top of the database, and not below documents.
        let isTop: Bool
    }

    /// The collections of the models in use, and those of their histories.
    var known: Set<Collection> { collections.withLock { $0 } }

    func register<Model: DocumentModel>(_ type: Model.Type) throws {
        guard !policies.withLock({ $0.keys.contains(Model.collection) }) else { return }
        let merging = Model.merging
        let policy = try merging.policy()
        policies.withLock { $0[Model.collection] = policy }
        collections.withLock { collections in
            collections.insert(Collection(id: Model.collection, isTop: Model.Parent.self == Never.self))
            if let history = merging.historyCollection { collections.insert(Collection(id: history, isTop: false)) }
        }
    }

    private func policy(of name: DocumentName) -> any RebasePolicy {
        policies.withLock { $0[name.collectionID] } ?? FieldwisePolicy()
    }

    func decide(_ proposal: inout RebaseProposal) { policy(of: proposal.name).decide(&proposal) }

    func history(of displaced: [DocumentClient.DisplacedValue], in context: RebaseContext) -> [DatabaseWrite] {
        policy(of: context.name).history(of: displaced, in: context)
    }
}
