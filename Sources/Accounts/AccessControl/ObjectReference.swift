import DocumentModel
import ObjectStorage

/// The key of an attachment's object: `<user>/chunks/<2 hex>/<64 hex>` or
/// `<user>/manifests/<2 hex>/<64 hex>`.
package struct ObjectReference: Hashable, Sendable {
    /// The user to whom the object belongs.
    let owner: String
    let isManifest: Bool
    let hash: ContentHash

    init(owner: String, isManifest: Bool, hash: ContentHash) {
        self.owner = owner
        self.isManifest = isManifest
        self.hash = hash
    }

    /// Parses a key; returns nil for any other text.
    init?(key: String) {
        // The length rules out most texts.
        guard (76...203).contains(key.utf8.count) else { return nil }
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, !parts[0].isEmpty, parts[1] == "chunks" || parts[1] == "manifests",
            parts[2].utf8.count == 2, parts[3].utf8.starts(with: parts[2].utf8), let hash = ContentHash(hex: parts[3])
        else { return nil }
        owner = String(parts[0])
        isManifest = parts[1] == "manifests"
        self.hash = hash
    }

    var key: String {
        let hex = hash.hex
        return "\(owner)/\(isManifest ? "manifests" : "chunks")/\(hex.prefix(2))/\(hex)"
    }

    /// Returns the keys among the values of these fields, at any depth, that pass `test`.
    static func all(
        in fields: [String: Value], where test: (ObjectReference) -> Bool = { _ in true }
    ) -> Set<ObjectReference> {
        var found: Set<ObjectReference> = []
        for value in fields.values { collect(from: value, into: &found, test) }
        return found
    }

    /// Returns the keys that a write could put into a document.
    static func all(in write: Write, where test: (ObjectReference) -> Bool) -> Set<ObjectReference> {
        var found: Set<ObjectReference> = []
        if case .update(_, let fields) = write.operation { found = all(in: fields, where: test) }
        for transform in write.transforms {
            guard case .appendMissingElements(let values) = transform.operation else { continue }
            for value in values { collect(from: value, into: &found, test) }
        }
        return found
    }

    private static func collect(
        from value: Value, into found: inout Set<ObjectReference>, _ test: (ObjectReference) -> Bool
    ) {
        switch value {
        case .string(let text):
            if let reference = ObjectReference(key: text), test(reference) { found.insert(reference) }
        case .array(let values): for value in values { collect(from: value, into: &found, test) }
        case .map(let fields): for value in fields.values { collect(from: value, into: &found, test) }
        default: break
        }
    }
}
