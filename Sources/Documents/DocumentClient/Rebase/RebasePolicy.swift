public import DocumentModel

/// What a collection's documents mean to their owner, asked when a change of this replica meets one that came first.
///
/// Both methods are pure: the same arguments give the same answer on every replica and after every crash.
public protocol RebasePolicy: Sendable {
    /// Decides what becomes of both changes: sets `merged`, and what else of the proposal has to change.
    func decide(_ proposal: inout RebaseProposal)

    /// Writes, for the same commit, that keep what was displaced.
    func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write]

    /// A field of each document where every replica notes the number of its last change that the document has. After a lost answer it
    /// tells whether the commit took effect, also when others have changed the document since. nil: such a commit is recognised
    /// by its result, as long as nobody has.
    var signatureField: String? { get }
}

extension RebasePolicy {
    public var signatureField: String? { nil }

    public func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] { [] }
}

/// A value that somebody saved and that a merge put aside.
public struct DisplacedValue: Sendable, Hashable {
    /// nil: the whole document; then `value` is nil too, and what was put aside is its delete.
    public var path: FieldPath?
    /// nil: the field was removed.
    public var value: Value?
    /// Why, as one of a few fixed words: `changedOnBothSides`, `overlappingText`, `editSurvivesDelete` …
    public var reason: String
    /// More to keep of it, as fields of its history entry.
    public var details: [String: Value]

    public init(path: FieldPath?, value: Value?, reason: String, details: [String: Value] = [:]) {
        self.path = path
        self.value = value
        self.reason = reason
        self.details = details
    }
}

/// Where and when a rebase happens.
public struct RebaseContext: Sendable, Hashable {
    public let name: DocumentName
    /// The remote's version that this replica's change was made from; nil if there was none.
    public let baseTime: Timestamp?
    /// The version that came first; nil if the document is gone.
    public let theirTime: Timestamp?
    public let replica: String
    /// What the document will hold; empty if it is gone.
    public let fields: [String: Value]
    /// Unique to this rebase, and made of characters that document ids may have.
    public let id: String
}

/// What a rebase is about to do; the policy changes the variables.
public struct RebaseProposal: Sendable, Hashable {
    public let name: DocumentName
    /// What this replica's change was made from; nil if the document did not exist.
    public let base: [String: Value]?
    /// The content this replica wants, without what the remote computes; nil: it deletes the document.
    public let mine: [String: Value]?
    /// The remote's content; nil: the document is gone.
    public let theirs: [String: Value]?
    /// The result without what the remote computes; nil: no document. At first `mine`.
    public var merged: [String: Value]?
    /// What the remote is to compute on top of `merged`.
    public var transforms: [FieldTransform]
    public var displaced: [DisplacedValue]

    init(mutation: Mutation, base: [String: Value]?, theirs: [String: Value]?) {
        name = mutation.name
        self.base = base
        mine = mutation.typed(over: base)
        self.theirs = theirs
        merged = mine
        transforms = mutation.transforms
        displaced = []
    }
}
