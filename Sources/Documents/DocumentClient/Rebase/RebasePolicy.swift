public import DocumentModel

/// The rules for merging documents of a collection, used when a change of this replica conflicts
/// with one that was committed first.
///
/// Both methods must be pure: with the same arguments they return the same result on every replica
/// and after every crash.
public protocol RebasePolicy: Sendable {
    /// Decides the result of both changes: sets `merged`, and other variables of the proposal if
    /// necessary.
    func decide(_ proposal: inout RebaseProposal)

    /// Returns writes for the same commit that keep displaced values.
    func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write]

    /// The field of each document in which every replica records the number of its last change that
    /// the document contains.
    ///
    /// After a lost response it shows whether the commit took effect, even if others have changed
    /// the document since. If nil, such a commit is recognized by its result, as long as the
    /// document was not changed since.
    var signatureField: String? { get }
}

extension RebasePolicy {
    /// No field: commits are recognized by their results.
    public var signatureField: String? { nil }

    /// Keeps no displaced values.
    public func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] { [] }
}

/// A value that a side saved and that a merge displaced.
public struct DisplacedValue: Sendable, Hashable {
    /// The path of the field; nil for the deletion of the whole document, with a nil `value`.
    public var path: FieldPath?
    /// The displaced value; nil if the field was removed.
    public var value: Value?
    /// The reason, as one of a few fixed words: `changedOnBothSides`, `overlappingText`,
    /// `editSurvivesDelete` …
    public var reason: String
    /// Further fields of the value's history entry.
    public var details: [String: Value]

    /// Creates a displaced value.
    public init(path: FieldPath?, value: Value?, reason: String, details: [String: Value] = [:]) {
        self.path = path
        self.value = value
        self.reason = reason
        self.details = details
    }
}

/// The circumstances of a rebase.
public struct RebaseContext: Sendable, Hashable {
    /// The name of the document.
    public let name: DocumentName
    /// The remote's version on which this replica's change is based; nil if there was none.
    public let baseTime: Timestamp?
    /// The version that was committed first; nil if the document does not exist.
    public let theirTime: Timestamp?
    /// The id of the replica.
    public let replica: String
    /// The content of the document after the rebase; empty if it does not exist.
    public let fields: [String: Value]
    /// An id that is unique to this rebase and consists of characters allowed in document ids.
    public let id: String
}

/// A proposed result of a rebase. The policy changes its variables.
public struct RebaseProposal: Sendable, Hashable {
    /// The name of the document.
    public let name: DocumentName
    /// The content on which this replica's change is based; nil if the document did not exist.
    public let base: [String: Value]?
    /// The content that this replica wants, without computed fields; nil if it deletes the
    /// document.
    public let mine: [String: Value]?
    /// The remote's content; nil if the document does not exist.
    public let theirs: [String: Value]?
    /// The result without computed fields, which is initially `mine`; nil for no document.
    public var merged: [String: Value]?
    /// The transforms that the remote applies to `merged`.
    public var transforms: [FieldTransform]
    /// The values that the merge displaces.
    public var displaced: [DisplacedValue]

    init(mutation: Mutation, base: [String: Value]?, theirs: [String: Value]?) {
        self.init(
            name: mutation.name, base: base, mine: mutation.typed(over: base), theirs: theirs,
            transforms: mutation.transforms)
    }

    /// Creates a proposal that keeps `mine`.
    package init(
        name: DocumentName, base: [String: Value]?, mine: [String: Value]?, theirs: [String: Value]?,
        transforms: [FieldTransform]
    ) {
        self.name = name
        self.base = base
        self.mine = mine
        self.theirs = theirs
        merged = mine
        self.transforms = transforms
        displaced = []
    }
}
