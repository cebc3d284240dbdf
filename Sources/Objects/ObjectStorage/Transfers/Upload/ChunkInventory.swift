import Synchronization
package import SystemIO

/// Knows which chunks a user has in a store. It asks for single chunks, or, if many are asked for
/// in a short time, lists all of them and uses the listing for a while.
///
/// A listing that is `trust` old is still usable, because garbage collection keeps chunks for
/// longer.
package final class ChunkInventory: Sendable {
    /// The time for which a listing is used, and for which no listing is attempted if there are too
    /// many chunks to list.
    fileprivate static let trust = Duration.seconds(30)
    /// The number of questions within `burst` from which a listing is worth its cost.
    fileprivate static let listingPays = 32
    fileprivate static let burst = Duration.seconds(10)
    /// The maximum number of pages of a listing, of a thousand keys each.
    private static let pageLimit = 16

    fileprivate struct State {
        /// The sizes of the objects and the time of the listing. The sizes are nil if there are too
        /// many objects.
        var listing: (sizes: [ContentHash: Int64]?, time: Duration)?
        var isListing = false
        var questions = 0
        var burstBegan = Duration.zero
    }

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    private let environment: Environment
    /// A mutex instead of an actor, because a change of executors for each question would be too
    /// slow.
    private let state = Mutex(State())

    /// Creates an inventory without a listing.
    package init(store: any ObjectStore, namespace: ObjectNamespace, environment: Environment) {
        self.store = store
        self.namespace = namespace
        self.environment = environment
    }

    /// Returns the size of the object of a chunk. Returns nil if there is none or the listing does
    /// not contain it: a chunk that another device has put since is put again, which is harmless.
    func size(of chunk: ContentHash) async throws -> Int64? {
        try await prepare(for: 1)
        if let known = state.withLock({ state in state.listing?.sizes.map { $0[chunk] } }) { return known }
        return try await store.head(namespace.chunk(chunk))?.size
    }

    /// Reports that this number of questions will follow, and lists the chunks if that is cheaper.
    func prepare(for questions: Int) async throws {
        let now = environment.now()
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

    /// Reports that a chunk was put.
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
    /// Counts the questions. If it returns true the caller must list the chunks and then set
    /// `isListing` to false.
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
