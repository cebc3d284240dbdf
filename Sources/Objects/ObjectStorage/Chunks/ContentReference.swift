/// The object through which the content of a file is found.
package enum ContentReference: Hashable, Sendable {
    /// A manifest, which lists the chunks.
    case manifest(ContentHash)
    /// The only chunk that there is; a manifest of it would tell nothing that the chunk does not.
    case chunk(ContentHash)

    /// From the key of the object; nil for what does not end in a hash.
    package init?(key: String) {
        let parts = key.split(separator: "/")
        guard let last = parts.last, let id = ContentHash(hex: last) else { return nil }
        self = parts.dropLast(2).last == "chunks" ? .chunk(id) : .manifest(id)
    }

    package var id: ContentHash {
        switch self {
        case .manifest(let id), .chunk(let id): id
        }
    }

    package func key(in namespace: ObjectNamespace) -> ObjectKey {
        switch self {
        case .manifest(let id): namespace.manifest(id)
        case .chunk(let id): namespace.chunk(id)
        }
    }
}
