/// The keys of the objects of one user: `<user>/chunks/<2 hex>/<sha256>` and `<user>/manifests/<2
/// hex>/<sha256>`.
public struct ObjectNamespace: Hashable, Sendable {
    /// The id of the user.
    public let user: String

    /// Creates the namespace of a user. Throws `.invalid` unless `user` has 1 to 128 bytes and no
    /// slash.
    public init(user: String) throws(ObjectStorageError) {
        guard (1...128).contains(user.utf8.count), !user.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
        else { throw ObjectStorageError(.invalid, "a user id of objects has 1 to 128 bytes and no slash") }
        self.user = user
    }

    /// The prefix of the keys of all chunks.
    public var chunkPrefix: String { "\(user)/chunks/" }

    /// The prefix of the keys of all manifests.
    public var manifestPrefix: String { "\(user)/manifests/" }

    /// Returns the key of a chunk.
    public func chunk(_ id: ContentHash) -> ObjectKey { key(chunkPrefix, id) }

    /// Returns the key of a manifest.
    public func manifest(_ id: ContentHash) -> ObjectKey { key(manifestPrefix, id) }

    /// The key of the user's `CondemnedObjects`.
    var condemned: ObjectKey { ObjectKey(unchecked: "\(user)/condemned") }

    /// Returns what the key refers to; nil if it is not the key of a chunk or a manifest of this
    /// user.
    package func reference(_ key: ObjectKey) -> ContentReference? {
        guard key.text.utf8.starts(with: user.utf8), let reference = ContentReference(key: key.text),
            reference.key(in: self) == key
        else { return nil }
        return reference
    }

    /// Creates the namespace to which a key belongs; nil if it is not the key of a chunk or a
    /// manifest.
    package init?(of key: ObjectKey) {
        guard let namespace = try? Self(user: String(key.text.prefix { $0 != "/" })), namespace.reference(key) != nil
        else {
            return nil
        }
        self = namespace
    }

    private func key(_ prefix: String, _ id: ContentHash) -> ObjectKey {
        let hex = id.hex
        return ObjectKey(unchecked: "\(prefix)\(hex.prefix(2))/\(hex)")
    }
}
