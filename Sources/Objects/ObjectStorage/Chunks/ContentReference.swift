/// The object from which the content of a file is read.
package enum ContentReference: Hashable, Sendable {
    /// A manifest, which lists the chunks of the file.
    case manifest(ContentHash)
    /// The only chunk of the file. Such a file needs no manifest.
    case chunk(ContentHash)

    /// Creates a reference to the object with this key; nil if the key does not end in a hash.
    package init?(key: String) {
        let parts = key.split(separator: "/")
        guard let last = parts.last, let id = ContentHash(hex: last) else { return nil }
        self = parts.dropLast(2).last == "chunks" ? .chunk(id) : .manifest(id)
    }

    /// The id of the manifest or of the chunk.
    package var id: ContentHash {
        switch self {
        case .manifest(let id), .chunk(let id): id
        }
    }

    /// Returns the key of the object.
    package func key(in namespace: ObjectNamespace) -> ObjectKey {
        switch self {
        case .manifest(let id): namespace.manifest(id)
        case .chunk(let id): namespace.chunk(id)
        }
    }
}
