/// The chunks and manifests in a store.
package struct ObjectInventory: Sendable {
    /// The number of manifests that are read at once.
    private static let width = 8

    private let store: any ObjectStore

    package init(_ store: any ObjectStore) { self.store = store }

    /// Returns the chunks and manifests of each namespace. Objects under other keys are left out.
    package func objects() async throws -> [ObjectNamespace: [ObjectCollector.Stored]] {
        var objects: [ObjectNamespace: [ObjectCollector.Stored]] = [:]
        var last: ObjectNamespace?
        try await store.forEach(prefix: "") { info in
            let known = last.flatMap { $0.reference(info.key) == nil ? nil : $0 }
            guard let namespace = known ?? ObjectNamespace(of: info.key), let reference = namespace.reference(info.key)
            else { return }
            last = namespace
            objects[namespace, default: []].append(
                ObjectCollector.Stored(reference, size: info.size, modified: info.modified))
        }
        return objects
    }

    /// Returns the chunks that the manifests list.
    ///
    /// - Throws: `ObjectStorageError` if one of them cannot be read, since the chunks that it needs are then unknown.
    package func chunks(of manifests: [ContentHash], in namespace: ObjectNamespace) async throws -> Set<ContentHash> {
        try await withThrowingTaskGroup(of: [ContentHash].self) { group in
            var needed: Set<ContentHash> = []
            for (started, id) in manifests.enumerated() {
                if started >= Self.width, let chunks = try await group.next() { needed.formUnion(chunks) }
                group.addTask {
                    let bytes = try await store.read(namespace.manifest(id), limit: Manifest.byteLimit)
                    guard ContentHash(of: bytes) == id else {
                        throw ObjectStorageError(.corrupt, "the manifest \(id) differs from what was stored")
                    }
                    return try Manifest(parsing: bytes).chunks.map(\.id)
                }
            }
            for try await chunks in group { needed.formUnion(chunks) }
            return needed
        }
    }
}
