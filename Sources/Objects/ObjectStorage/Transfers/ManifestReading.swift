extension Manifest {
    /// From so many chunks on it takes less time to get the manifest of an earlier version than to cut without it.
    static let chunksWorthKnowing = 16
    /// From so many chunks on it is worth marking them: of shorter files nobody notices how long it takes to hash them again.
    static let chunksWorthMarking = 128
    /// Few manifests have more bytes.
    static let likelyBytes = 256 << 10
}

extension ObjectStore {
    /// The manifest at `key`, and how many bytes it has.
    ///
    /// Throws `.corrupt` for what is not what the key names or has more than `limit` bytes, `.invalid` for a key of something
    /// else.
    ///
    /// - Parameter budget: where the memory for the bytes comes from until they are read; nil for a manifest that was read before,
    ///   whose reading must not wait.
    func manifest(
        _ key: ObjectKey, limit: Int, _ budget: ByteBudget?
    ) async throws -> (Manifest, byteCount: Int) {
        guard case .manifest(let id)? = ContentReference(key: key.text) else {
            throw ObjectStorageError(.invalid, "\(key) is no key of a manifest")
        }
        // Taken before the answer begins: one that waits for memory would keep a connection from those who have it. Most are
        // short; a long one is asked for again.
        var share = try await budget?.take(min(limit, Manifest.likelyBytes))
        defer { share?.shrink(to: 0) }
        var content = try await get(key, range: nil)
        guard (0...Int64(limit)).contains(content.length) else {
            throw ObjectStorageError(
                .corrupt,
                "the manifest \(key) has \(content.length) bytes, and one of such a file has \(limit) at most")
        }
        if let budget, content.length > Int64(Manifest.likelyBytes) {
            let length = content.length
            content = ObjectContent(info: content.info, length: 0) { nil }
            share?.shrink(to: 0)
            share = try await budget.take(Int(length))
            content = try await get(key, range: nil)
        }
        let bytes = try await content.collect(limit: limit)
        guard ContentHash(of: bytes) == id else {
            throw ObjectStorageError(.corrupt, "the manifest \(key) is damaged")
        }
        return (try Manifest(parsing: bytes), bytes.count)
    }

    /// The manifest of an earlier version; nil where it is not to be had, for whatever reason: it would only save time.
    func earlierManifest(_ key: ObjectKey?, _ progress: TransferProgress) async -> Manifest? {
        guard let key, let (manifest, byteCount) = try? await manifest(key, limit: Manifest.byteLimit, nil) else {
            return nil
        }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }
}
