import Synchronization
package import SystemIO

/// Which chunks a user has in a store, asked for one by one, or, where many are asked for soon after each other, by a
/// listing that answers for a while.
///
/// An answer that is old by as much as `trust` is still right: whoever collects garbage leaves a chunk alone for longer.
package final class ChunkInventory: Sendable {
    /// How long a listing counts, and how long it takes effect that there is too much to list.
    fileprivate static let trust = Duration.seconds(30)
    /// So many questions within `burst` are a reason to list.
    fileprivate static let listingPays = 32
    fileprivate static let burst = Duration.seconds(10)
    /// A thousand keys each.
    private static let pageLimit = 16

    fileprivate struct State {
        /// The lengths of the objects, and when they were listed. Nil lengths: there are too many.
        var listing: (sizes: [ContentHash: Int64]?, time: Duration)?
        var isListing = false
        var questions = 0
        var burstBegan = Duration.zero
    }

    fileprivate enum Answer {
        /// Nil: it is not there.
        case size(Int64?)
        case list
        case ask
    }

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    private let surroundings: Surroundings
    /// Under a lock and in no actor: each question would cost a change of executors.
    private let state = Mutex(State())

    package init(store: any ObjectStore, namespace: ObjectNamespace, surroundings: Surroundings) {
        self.store = store
        self.namespace = namespace
        self.surroundings = surroundings
    }

    /// The length of a chunk's object; nil where there is none, or none of that the inventory knows: what others put
    /// meanwhile is put once more, which harms nobody.
    func size(of chunk: ContentHash) async throws -> Int64? {
        let now = surroundings.now()
        switch state.withLock({ $0.answer(for: chunk, now) }) {
        case .size(let size): return size
        case .ask: break
        case .list:
            let sizes: [ContentHash: Int64]?
            do {
                sizes = try await list()
            } catch {
                state.withLock { $0.isListing = false }
                throw error
            }
            state.withLock { state in
                state.listing = (sizes, now)
                state.isListing = false
            }
            if let sizes { return sizes[chunk] }
        }
        return try await store.head(namespace.chunk(chunk))?.size
    }

    /// A chunk was put.
    func note(_ chunk: ContentHash, size: Int64) { state.withLock { $0.listing?.sizes?[chunk] = size } }

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

extension ChunkInventory.State {
    fileprivate mutating func answer(for chunk: ContentHash, _ now: Duration) -> ChunkInventory.Answer {
        if let time = listing?.time, now - time > ChunkInventory.trust { listing = nil }
        if let sizes = listing?.sizes { return .size(sizes[chunk]) }
        if now - burstBegan > ChunkInventory.burst { (burstBegan, questions) = (now, 0) }
        questions += 1
        guard questions >= ChunkInventory.listingPays, listing == nil, !isListing else { return .ask }
        isListing = true
        return .list
    }
}
