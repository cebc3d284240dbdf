/// Where the objects of one user live: `<user>/chunks/<2 hex>/<sha256>` and `<user>/manifests/<2 hex>/<sha256>`.
public struct ObjectNamespace: Hashable, Sendable {
    public let user: String

    /// `user` has 1 to 128 bytes and no slash.
    public init(user: String) throws(ObjectStorageError) {
        guard (1...128).contains(user.utf8.count), !user.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
        else { throw ObjectStorageError(.invalid, "a user id of objects has 1 to 128 bytes and no slash") }
        self.user = user
    }

    public var chunkPrefix: String { "\(user)/chunks/" }

    public var manifestPrefix: String { "\(user)/manifests/" }

    public func chunk(_ id: ContentHash) -> ObjectKey { key(chunkPrefix, id) }

    public func manifest(_ id: ContentHash) -> ObjectKey { key(manifestPrefix, id) }

    /// Where `CondemnedObjects` are.
    var condemned: ObjectKey { ObjectKey(unchecked: "\(user)/condemned") }

    /// What the key names; nil for one that is not a chunk's or a manifest's of this user.
    package func reference(_ key: ObjectKey) -> ContentReference? {
        guard key.text.utf8.starts(with: user.utf8), let reference = ContentReference(key: key.text),
            reference.key(in: self) == key
        else { return nil }
        return reference
    }

    /// The user whose objects a key is among; nil for a key that is not made as those of namespaces are.
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
