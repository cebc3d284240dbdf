extension Manifest {
    /// From so many chunks on it takes less time to get the manifest of an earlier version than to cut without it.
    static let chunksWorthKnowing = 16
    /// From so many chunks on it is worth marking them: of shorter files nobody notices how long it takes to hash them again.
    static let chunksWorthMarking = 128
}

extension ObjectStore {
    /// The manifest at `key`, and how many bytes it has.
    ///
    /// Throws `.corrupt` for what is not what the key names or has more than `limit` bytes, `.invalid` for a key of something
    /// else.
    ///
    /// - Parameter budget: where the memory for the bytes of a long one comes from, until they are read.
    func manifest(
        _ key: ObjectKey, limit: Int = Manifest.byteLimit, _ budget: ByteBudget
    ) async throws -> (Manifest, byteCount: Int) {
        guard case .manifest(let id)? = ContentReference(key: key.text) else {
            throw ObjectStorageError(.invalid, "\(key) is no key of a manifest")
        }
        let content = try await get(key, range: nil)
        guard (0...Int64(limit)).contains(content.length) else {
            throw ObjectStorageError(
                .corrupt,
                "the manifest \(key) has \(content.length) bytes, and one of such a file has \(limit) at most")
        }
        let share = try await budget.take(Int(content.length))
        defer { share.shrink(to: 0) }
        let bytes = try await content.collect(limit: limit)
        guard ContentHash(of: bytes) == id else {
            throw ObjectStorageError(.corrupt, "the manifest \(key) is damaged")
        }
        return (try Manifest(parsing: bytes), bytes.count)
    }

    /// The manifest of an earlier version; nil where it is not to be had, for whatever reason: it would only save time.
    func earlierManifest(
        _ key: ObjectKey?, _ budget: ByteBudget, _ progress: TransferProgress
    ) async -> Manifest? {
        guard let key, let (manifest, byteCount) = try? await manifest(key, budget) else { return nil }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }
}
