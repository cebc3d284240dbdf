import DocumentModel
import Merge

/// Merges two states of a node with the one on which they are based.
///
/// `mine` is the file's state, which is committed later and therefore wins where both sides changed
/// one value; the other value is displaced. Place, name, and contents are merged separately, so a
/// rename here and an edit elsewhere are no conflict.
struct StateMerge {
    private(set) var displaced: [Displaced] = []

    /// Returns the merged state.
    ///
    /// - Parameter base: the state on which both are based; `nil` if the two meet for the first time.
    mutating func merge(_ kind: NodeKind, base: NodeState?, mine: NodeState, theirs: NodeState) -> Draft {
        let parent = scalar(base.map { $0.parent }, mine.parent, theirs.parent) { .parent($0) }
        let name = scalar(base?.name, mine.name, theirs.name) { .name($0) }
        return Draft(
            parent: parent, name: name, contents: contents(kind, base?.contents, mine.contents, theirs.contents))
    }

    private mutating func scalar<Value: Equatable>(
        _ base: Value?, _ mine: Value, _ theirs: Value, displacing: (Value) -> Displaced
    ) -> Value {
        if mine == theirs || base == theirs { return mine }
        if base == mine { return theirs }
        displaced.append(displacing(theirs))
        return mine
    }

    private mutating func contents(
        _ kind: NodeKind, _ base: Contents?, _ mine: Contents, _ theirs: Contents
    ) -> PlannedContents {
        if mine == theirs || base == theirs { return .known(mine) }
        if base == mine { return .known(theirs) }
        guard kind != .attachment else {
            displaced.append(.version(theirs))
            return .known(mine)
        }
        let result =
            kind == .list
            ? DocumentMerge.merge(base: base?.fields, mine: mine.fields, theirs: theirs.fields, policy: .lists)
            : TaskMerge.merge(base: base?.fields, mine: mine.fields, theirs: theirs.fields)
        displaced += result.displaced.filter { $0.side == .theirs }.map { .field($0) }
        guard let fields = result.fields, fields != mine.fields else { return .known(mine) }
        return fields == theirs.fields ? .known(theirs) : .merged(fields)
    }
}
