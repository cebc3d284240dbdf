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
        try await prepare(for: 1)
        if let known = state.withLock({ state in state.listing?.sizes.map { $0[chunk] } }) { return known }
        return try await store.head(namespace.chunk(chunk))?.size
    }

    /// So many questions are about to come: lists what there is, where that costs less.
    func prepare(for questions: Int) async throws {
        let now = surroundings.now()
        guard state.withLock({ $0.mustList(for: questions, now) }) else { return }
        do {
            let sizes = try await list()
            state.withLock { state in
                state.listing = (sizes, now)
                state.isListing = false
            }
        } catch {
            state.withLock { $0.isListing = false }
            throw error
        }
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
    /// Counts the questions; true: whoever asks them is to list, and to tell how that ended.
    fileprivate mutating func mustList(for questions: Int, _ now: Duration) -> Bool {
        if let time = listing?.time, now - time > ChunkInventory.trust { listing = nil }
        guard listing?.sizes == nil else { return false }
        if now - burstBegan > ChunkInventory.burst { (burstBegan, self.questions) = (now, 0) }
        self.questions += questions
        guard self.questions >= ChunkInventory.listingPays, listing == nil, !isListing else { return false }
        isListing = true
        return true
    }
}
