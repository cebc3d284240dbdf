import DocumentClient
import DocumentCoding
import DocumentModel

/// Applies a policy, which knows top-level fields only, to the innermost fields of a document.
struct NestedMergingPolicy: RebasePolicy {
    private let policy: MergingPolicy

    init(_ policy: MergingPolicy) { self.policy = policy }

    func decide(_ proposal: inout RebaseProposal) {
        var flat = RebaseProposal(
            name: proposal.name, base: proposal.base.map(FlatFields.flatten),
            mine: proposal.mine.map(FlatFields.flatten), theirs: proposal.theirs.map(FlatFields.flatten),
            transforms: proposal.transforms.map {
                FieldTransform(FieldPath(key: FlatFields.key(of: $0.path)), $0.operation)
            })
        policy.decide(&flat)
        proposal.merged = flat.merged.map(FlatFields.unflatten)
        proposal.transforms = flat.transforms.map { FieldTransform(FlatFields.path(of: $0.path), $0.operation) }
        proposal.displaced = flat.displaced.map { value in
            var value = value
            value.path = value.path.map(FlatFields.path(of:))
            return value
        }
    }

    func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [DatabaseWrite] {
        policy.history(of: displaced, in: context)
    }
}

/// Converts nested maps to one map, whose keys are the paths of the innermost fields, and back.
enum FlatFields {
    /// Separates the keys of a path. It is not part of the name of any property.
    private static let separator: Character = "\u{1F}"

    static func key(of path: FieldPath) -> String { path.segments.joined(separator: String(separator)) }

    static func path(of flat: FieldPath) -> FieldPath {
        guard let key = flat.segments.first, flat.segments.count == 1,
            let path = try? FieldPath(segments(of: key))
        else { return flat }
        return path
    }

    private static func segments(of key: String) -> [String] {
        key.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }

    static func flatten(_ fields: [String: Value]) -> [String: Value] {
        var flat: [String: Value] = [:]
        collect(fields, below: "", into: &flat)
        return flat
    }

    private static func collect(_ fields: [String: Value], below prefix: String, into flat: inout [String: Value]) {
        for (key, value) in fields {
            let key = prefix + key
            if case .map(let inner) = value, !inner.isEmpty {
                collect(inner, below: key + String(separator), into: &flat)
            } else {
                flat[key] = value
            }
        }
    }

    static func unflatten(_ flat: [String: Value]) -> [String: Value] {
        var fields: [String: Value] = [:]
        // Of a value and of fields below it, which two sides may have made apart, the fields win.
        for (key, value) in flat.sorted(by: { $0.key < $1.key }) {
            fields.setValue(value, at: segments(of: key)[...])
        }
        return fields
    }
}
