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

    private func key(_ prefix: String, _ id: ContentHash) -> ObjectKey {
        let hex = id.hex
        return ObjectKey(unchecked: "\(prefix)\(hex.prefix(2))/\(hex)")
    }
}
