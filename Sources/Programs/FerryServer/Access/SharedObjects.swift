import DocumentModel
import DocumentStore
import ObjectStorage

/// Decides which objects of others a user may read: those that the tasks of a list, or the history below these, reference now,
/// where both the user and the one whose object it is take part in the list.
///
/// A reference names an object itself, or a manifest that lists it. What the lists reference is kept in memory, so that a request
/// costs the reading of one list and one task; it is collected anew at most once for each change of a list.
actor SharedObjects {
    /// Where a list references an object.
    private struct Place: Sendable {
        /// The task, or an entry of its history.
        let document: DocumentName
        /// What stands there: the object, or the manifest that lists it.
        let reference: ObjectReference
    }

    /// What a list references.
    private struct Index: Sendable {
        /// The changes that had been counted when it was collected.
        let count: UInt64
        var places: [ObjectReference: DocumentName] = [:]
        var manifests: [ObjectReference] = []
        /// By the first bytes of a chunk's hash, the position in `manifests` of one that lists it. The owner of the manifest owns the
        /// chunks and has put both there, so a hash that only begins alike opens nothing to others that they could ask for.
        var chunks: [UInt64: UInt32] = [:]
        /// The same for further manifests that list it.
        var otherManifests: [UInt64: [UInt32]] = [:]
        var chunkCount = 0

        mutating func add(_ chunk: UInt64, in manifest: UInt32) {
            guard let known = chunks[chunk] else {
                chunks[chunk] = manifest
                chunkCount += 1
                return
            }
            guard known != manifest, otherManifests[chunk]?.last != manifest else { return }
            otherManifests[chunk, default: []].append(manifest)
            chunkCount += 1
        }
    }

    private struct Circle: Sendable {
        let count: UInt64
        let lists: [SharedList]
    }

    /// Chunks of manifests that are known of one list; what is above it cannot be read by others than their owner.
    static let chunkLimit = 2_000_000
    /// Chunks and references that are known of all lists, above which those of other lists are forgotten.
    private static let totalLimit = 4_000_000
    private static let circleLimit = 10_000

    nonisolated let changes = SharingChanges()
    nonisolated let database: DatabaseName
    private let store: @Sendable () async throws -> any DocumentStore
    private let manifest: @Sendable (_ key: String) async throws -> [UInt8]?
    private var indexes: [String: Index] = [:]
    private var collecting: [String: (count: UInt64, task: Task<Index, any Error>)] = [:]
    private var circles: [String: Circle] = [:]

    /// - Parameter manifest: reads an object of the users' bucket; nil where there is none.
    init(
        database: DatabaseName, store: @escaping @Sendable () async throws -> any DocumentStore,
        manifest: @escaping @Sendable (_ key: String) async throws -> [UInt8]?
    ) {
        self.database = database
        self.store = store
        self.manifest = manifest
    }

    /// Whether a user may read the object at `key`, which is not among his own.
    func mayRead(_ key: String, by user: String) async throws -> Bool {
        guard !user.isEmpty, let reference = ObjectReference(key: key), reference.key == key, reference.owner != user
        else { return false }
        for list in try await lists(of: user) where list.participants.contains(reference.owner) {
            if let known = indexes[list.id] {
                if try await holds(known, reference, list.id, for: user) { return true }
                if known.count == changes.count(ofList: list.id) { continue }
            }
            if try await holds(try await collected(list), reference, list.id, for: user) { return true }
        }
        return false
    }

    // MARK: Lists

    /// The lists that a user shares with others.
    private func lists(of user: String) async throws -> [SharedList] {
        let count = changes.count(ofUser: user)
        if let known = circles[user], known.count == count { return known.lists }
        let store = try await store()
        var lists: [String: SharedList] = [:]
        for filter in [
            Query.Filter.field(FieldPath(key: "sharedWith"), .arrayContains, .string(user)),
            .field(FieldPath(key: "userId"), .equal, .string(user)),
        ] {
            let query = Query(parent: ParentName(database), collectionID: "lists", filter: filter)
            for try await document in try await store.query(query, at: .strong).documents {
                guard let list = SharedList(try document.decoded()), list.participants.count > 1 else { continue }
                lists[list.id] = list
            }
        }
        if circles.count >= Self.circleLimit { circles = [:] }
        let circle = Circle(count: count, lists: lists.values.sorted { $0.id < $1.id })
        circles[user] = circle
        return circle.lists
    }

    // MARK: What a list references

    private func collected(_ list: SharedList) async throws -> Index {
        let count = changes.count(ofList: list.id)
        if let known = indexes[list.id], known.count == count { return known }
        let task: Task<Index, any Error>
        if let running = collecting[list.id], running.count == count {
            task = running.task
        } else {
            let (database, store, manifest) = (database, store, manifest)
            task = Task { try await Self.collect(list, count, database, store, manifest) }
            collecting[list.id] = (count, task)
        }
        defer { if collecting[list.id]?.count == count { collecting[list.id] = nil } }
        let index = try await task.value
        let others = indexes.values.reduce(0) { $0 + $1.chunkCount + $1.places.count }
        if others + index.chunkCount + index.places.count > Self.totalLimit { indexes = [:] }
        indexes[list.id] = index
        return index
    }

    private static func collect(
        _ list: SharedList, _ count: UInt64, _ database: DatabaseName,
        _ store: @Sendable () async throws -> any DocumentStore,
        _ manifest: @Sendable (_ key: String) async throws -> [UInt8]?
    ) async throws -> Index {
        var index = Index(count: count)
        let filter = Query.Filter.and([
            .field(FieldPath(key: "userId"), .equal, .string(list.owner)),
            .field(FieldPath(key: "listId"), .equal, .string(list.id)),
        ])
        let store = try await store()
        for collection in ["tasks", "history"] {
            let query = Query(
                parent: ParentName(database), collectionID: collection, allDescendants: collection == "history",
                filter: filter)
            for try await document in try await store.query(query, at: .strong).documents {
                let document = try document.decoded()
                // A task that references the same comes first, and is what is likeliest to stay.
                for reference in ObjectReference.all(in: document.fields) where index.places[reference] == nil {
                    index.places[reference] = document.name
                    if reference.isManifest { index.manifests.append(reference) }
                }
            }
        }
        for (position, reference) in index.manifests.enumerated() {
            guard let bytes = try await manifest(reference.key), ContentHash(of: bytes) == reference.hash,
                let manifest = try? Manifest(parsing: bytes), let number = UInt32(exactly: position)
            else { continue }
            for chunk in manifest.chunks where index.chunkCount < chunkLimit {
                index.add(start(of: chunk.id), in: number)
            }
        }
        return index
    }

    private static func start(of hash: ContentHash) -> UInt64 { UInt64(hash.hex.prefix(16), radix: 16) ?? 0 }

    // MARK: As it is now

    /// Whether the list references the object now, as one of the places says that it did.
    private func holds(
        _ index: Index, _ reference: ObjectReference, _ list: String, for user: String
    ) async throws -> Bool {
        var places: [Place] = []
        if let document = index.places[reference] { places.append(Place(document: document, reference: reference)) }
        if !reference.isManifest {
            let start = Self.start(of: reference.hash)
            for position in (index.chunks[start].map { [$0] } ?? []) + (index.otherManifests[start] ?? []) {
                let manifest = index.manifests[Int(position)]
                guard manifest.owner == reference.owner, let document = index.places[manifest] else { continue }
                places.append(Place(document: document, reference: manifest))
            }
        }
        // One that went may stand in front of others that did not; more than a few alike are not worth a read each.
        for place in places.prefix(4) {
            if try await isSo(place, in: list, reference.owner, user) { return true }
        }
        return false
    }

    private func isSo(_ place: Place, in list: String, _ owner: String, _ user: String) async throws -> Bool {
        var task = place.document
        while let parent = task.parent { task = parent }
        let name = try DocumentName(database: database, collection: "lists", id: list)
        let names = [name, task] + (task == place.document ? [] : [place.document])
        let found = try await store().get(names, at: .strong).documents.map { try $0?.decoded() }
        guard let document = found[0], let shared = SharedList(document), let task = found[1],
            shared.participants.isSuperset(of: [owner, user]), task.fields["userId"] == .string(shared.owner),
            task.fields["listId"] == .string(list), let holder = found.last ?? nil
        else { return false }
        return ObjectReference.all(in: holder.fields) { $0 == place.reference }.contains(place.reference)
    }
}
