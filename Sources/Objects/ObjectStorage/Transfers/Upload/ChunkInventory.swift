package import SystemIO

/// Which chunks a user has in a store, asked for one by one, or, where many are asked for soon after each other, by a
/// listing that answers for a while.
///
/// An answer that is old by as much as `trust` is still right: whoever collects garbage leaves a chunk alone for longer.
package actor ChunkInventory {
    /// How long a listing counts, and how long it takes effect that there is too much to list.
    private static let trust = Duration.seconds(30)
    /// So many questions within `burst` are a reason to list.
    private static let listingPays = 32
    private static let burst = Duration.seconds(10)
    /// A thousand keys each.
    private static let pageLimit = 16

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    /// The lengths of the objects, and when they were listed. Nil lengths: there are too many.
    private var listing: (sizes: [ContentHash: Int64]?, time: Duration)?
    private var isListing = false
    private var questions = 0
    private var burstBegan = Duration.zero
    private let surroundings: Surroundings

    package init(store: any ObjectStore, namespace: ObjectNamespace, surroundings: Surroundings) {
        self.store = store
        self.namespace = namespace
        self.surroundings = surroundings
    }

    /// The length of a chunk's object; nil where there is none, or none of that the inventory knows: what others put
    /// meanwhile is put once more, which harms nobody.
    func size(of chunk: ContentHash) async throws -> Int64? {
        let now = surroundings.now()
        if let time = listing?.time, now - time > Self.trust { listing = nil }
        if let sizes = listing?.sizes { return sizes[chunk] }
        if now - burstBegan > Self.burst { (burstBegan, questions) = (now, 0) }
        questions += 1
        if questions >= Self.listingPays, listing == nil, !isListing {
            isListing = true
            defer { isListing = false }
            listing = (try await list(), now)
            if let sizes = listing?.sizes { return sizes[chunk] }
        }
        return try await store.head(namespace.chunk(chunk))?.size
    }

    /// A chunk was put.
    func note(_ chunk: ContentHash, size: Int64) { listing?.sizes?[chunk] = size }

    private func list() async throws -> [ContentHash: Int64]? {
        var sizes: [ContentHash: Int64] = [:]
        var next: ObjectKey?
        for _ in 0..<Self.pageLimit {
            let page = try await store.list(prefix: namespace.chunkPrefix, after: next, limit: 1000)
            for object in page.objects {
                if let id = ContentHash(hex: object.key.text.suffix(64)) { sizes[id] = object.size }
            }
            next = page.next
            if next == nil { return sizes }
        }
        return nil
    }
}
