extension Manifest {
    /// The number of chunks from which fetching the manifest of an earlier version is faster than
    /// cutting the file without it.
    static let chunksWorthKnowing = 16
    /// The number of chunks from which fingerprints are computed. Shorter files are hashed fast
    /// enough without them.
    static let chunksWorthMarking = 128
    /// The size in bytes that few manifests exceed.
    static let likelyBytes = 256 << 10
}

extension ObjectStore {
    /// Fetches and verifies a manifest. Returns it with its size in bytes.
    ///
    /// Throws `.corrupt` if the object does not have the hash in the key or has more than `limit`
    /// bytes, and `.invalid` if the key is not that of a manifest.
    ///
    /// - Parameter budget: The memory budget for the bytes until they are parsed; nil for a request
    ///   that must not wait.
    func manifest(
        _ key: ObjectKey, limit: Int, _ budget: ByteBudget?
    ) async throws -> (Manifest, byteCount: Int) {
        guard case .manifest(let id)? = ContentReference(key: key.text) else {
            throw ObjectStorageError(.invalid, "\(key) is not the key of a manifest")
        }
        // The memory is taken before the request, because a response that waits for memory would
        // keep a connection from others that have memory. Most manifests are short; a long one is
        // requested again.
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

    /// Fetches the manifest of an earlier version. Returns nil after any error, because the
    /// manifest only saves time.
    func earlierManifest(_ key: ObjectKey?, _ progress: TransferProgress) async -> Manifest? {
        guard let key, let (manifest, byteCount) = try? await manifest(key, limit: Manifest.byteLimit, nil) else {
            return nil
        }
        progress.sent(raw: 0, wire: byteCount)
        return manifest
    }
}
