extension Manifest {
    /// From so many chunks on it takes less time to get the manifest of an earlier version than to cut without it.
    static let chunksWorthKnowing = 16
    /// From so many chunks on it is worth marking them: of shorter files nobody notices how long it takes to hash them again.
    static let chunksWorthMarking = 128
}

extension ObjectStore {
    /// The manifest at `key`, and how many bytes it has. Throws `.corrupt` for what is not what the key names, `.invalid` for a key
    /// of something else.
    func manifest(_ key: ObjectKey) async throws -> (Manifest, byteCount: Int) {
        guard case .manifest(let id)? = ContentReference(key: key.text) else {
            throw ObjectStorageError(.invalid, "\(key) is no key of a manifest")
        }
        let bytes = try await read(key, limit: Manifest.byteLimit)
        guard ContentHash(of: bytes) == id else {
            throw ObjectStorageError(.corrupt, "the manifest \(key) is damaged")
        }
        return (try Manifest(parsing: bytes), bytes.count)
    }

    /// The manifest of an earlier version; nil where it is not to be had, for whatever reason: it would only save time.
    func earlierManifest(_ key: ObjectKey?, _ progress: TransferProgress) async -> Manifest? {
        guard let key, let (manifest, byteCount) = try? await manifest(key) else { return nil }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }
}
