package import DocumentModel
package import DocumentStore
import FirestoreServer
import ObjectStorage

/// Decides which objects of others a user may read: those that are currently referenced by the
/// user's own tasks, by the tasks of a list in which both participate, or by the history below such
/// tasks.
///
/// A task of the user's own can only have got such a reference while the user could read the object
/// (see `DocumentAccess.prepare`), so an attachment stays with its task when its uploader leaves
/// the list. A reference names an object itself, or a manifest that lists it. The references of
/// tasks are cached in memory, so that a request costs reading one list and one task. The cache is
/// refreshed at most once for each change.
package actor SharedObjects {
    /// A set of tasks whose references are collected together.
    private enum Scope: Hashable {
        /// The tasks of a shared list.
        case list(SharedList)
        /// The tasks that a user owns, in any list.
        case own(user: String)

        /// The identity of the scope, which does not depend on the list's members.
        var key: [String] {
            switch self {
            case .list(let list): ["list", list.id]
            case .own(let user): ["own", user]
            }
        }

        /// The filter that selects its tasks and the history below them.
        var filter: Query.Filter {
            switch self {
            case .list(let list):
                .and([
                    .field(FieldPath(key: "userId"), .equal, .string(list.owner)),
                    .field(FieldPath(key: "listId"), .equal, .string(list.id)),
                ])
            case .own(let user): .field(FieldPath(key: "userId"), .equal, .string(user))
            }
        }

        /// Whether references to the objects of a user matter. Users can read their own objects
        /// without any reference.
        func concerns(objectsOf owner: String) -> Bool {
            if case .own(let user) = self { owner != user } else { true }
        }
    }

    /// A document in which a scope references an object.
    private struct Place: Sendable {
        /// The task, or an entry of its history.
        let document: DocumentName
        /// The reference in the document: to the object, or to the manifest that lists it.
        let reference: ObjectReference
    }

    /// The references of the tasks of a scope.
    private struct Index: Sendable {
        /// The number of changes that had been counted when the index was collected.
        let count: UInt64
        /// The earliest time for the next collection. A collection that took long is not repeated
        /// for some time, so that a client cannot keep the server busy with it.
        var renewal: ContinuousClock.Instant?
        var places: [ObjectReference: DocumentName] = [:]
        var manifests: [ObjectReference] = []
        /// The position in `manifests` of a manifest that lists a chunk, by the first bytes of the
        /// chunk's hash.
        ///
        /// The owner of the manifest owns the chunks and has uploaded both, so another chunk whose
        /// hash starts with the same bytes gives others no access that they could make use of.
        var chunks: [UInt64: UInt32] = [:]
        /// The positions of further manifests that list the chunk.
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

    /// The maximum number of chunks that are indexed of one list. Chunks above it can be read by
    /// their owner only.
    static let chunkLimit = 2_000_000
    /// The maximum number of chunks and references that are indexed of all lists. Above it, those
    /// of other lists are dropped.
    private static let totalLimit = 4_000_000
    private static let circleLimit = 10_000
    /// The duration above which a collection is followed by a pause of four times its duration.
    private static let quickCollection = Duration.milliseconds(100)

    nonisolated let changes = SharingChanges()
    nonisolated let database: DatabaseName
    private let store: @Sendable () async throws -> any DocumentStore
    private let manifest: @Sendable (_ key: String) async throws -> [UInt8]?
    private var indexes: [[String]: Index] = [:]
    private var collecting: [[String]: (count: UInt64, task: Task<Index, any Error>)] = [:]
    private var circles: [String: Circle] = [:]

    /// Creates an empty cache.
    ///
    /// - Parameter manifest: Returns the bytes of an object of the users' bucket; nil if there is
    ///   none.
    package init(
        database: DatabaseName, store: @escaping @Sendable () async throws -> any DocumentStore,
        manifest: @escaping @Sendable (_ key: String) async throws -> [UInt8]?
    ) {
        self.database = database
        self.store = store
        self.manifest = manifest
    }

    /// Whether a user may read the object at `key`, which belongs to another user.
    package func mayRead(_ key: String, by user: String) async throws -> Bool {
        guard !user.isEmpty, let reference = ObjectReference(key: key), reference.key == key, reference.owner != user
        else { return false }
        let shared = try await lists(of: user).filter { $0.participants.contains(reference.owner) }
        for scope in shared.map(Scope.list) + [.own(user: user)] {
            if let known = indexes[scope.key] {
                if try await holds(known, reference, scope, for: user) { return true }
                if known.count == count(of: scope) || known.renewal.map({ $0 > .now }) == true { continue }
            }
            if try await holds(try await collected(scope), reference, scope, for: user) { return true }
        }
        return false
    }

    private func count(of scope: Scope) -> UInt64 {
        switch scope {
        case .list(let list): changes.count(ofList: list.id)
        case .own(let user): changes.count(ofOwner: user)
        }
    }

    // MARK: Lists

    /// Returns the lists that a user shares with others.
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

    // MARK: What tasks reference

    /// Returns the current references of the tasks of a scope. A collection in progress is awaited,
    /// so that at most one runs for a scope.
    private func collected(_ scope: Scope) async throws -> Index {
        let key = scope.key
        while let running = collecting[key] {
            let index = try await running.task.value
            if index.count == count(of: scope) || index.renewal != nil { return index }
            if collecting[key]?.count == running.count { collecting[key] = nil }
        }
        let count = count(of: scope)
        if let known = indexes[key], known.count == count { return known }
        let (database, store, manifest) = (database, store, manifest)
        let task = Task { try await Self.collect(scope, count, database, store, manifest) }
        collecting[key] = (count, task)
        defer { if collecting[key]?.count == count { collecting[key] = nil } }
        let index = try await task.value
        let others = indexes.values.reduce(0) { $0 + $1.chunkCount + $1.places.count }
        if others + index.chunkCount + index.places.count > Self.totalLimit { indexes = [:] }
        indexes[key] = index
        return index
    }

    private static func collect(
        _ scope: Scope, _ count: UInt64, _ database: DatabaseName,
        _ store: @Sendable () async throws -> any DocumentStore,
        _ manifest: @Sendable (_ key: String) async throws -> [UInt8]?
    ) async throws -> Index {
        let start = ContinuousClock.now
        var index = Index(count: count)
        let store = try await store()
        for collection in ["tasks", "history"] {
            let query = Query(
                parent: ParentName(database), collectionID: collection, allDescendants: collection == "history",
                filter: scope.filter)
            for try await document in try await store.query(query, at: .strong).documents {
                let document = try document.decoded()
                guard document.name.isAmongTasks else { continue }
                // The task comes before its history, because it is more likely to keep the
                // reference.
                let references = ObjectReference.all(in: document.fields) { scope.concerns(objectsOf: $0.owner) }
                for reference in references where index.places[reference] == nil {
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
                index.add(Self.start(of: chunk.id), in: number)
            }
        }
        let duration = ContinuousClock.now - start
        if duration > quickCollection { index.renewal = .now + duration * 4 }
        return index
    }

    private static func start(of hash: ContentHash) -> UInt64 { UInt64(hash.hex.prefix(16), radix: 16) ?? 0 }

    // MARK: As it is now

    /// Whether a task of the scope currently references the object, in one of the indexed places.
    private func holds(
        _ index: Index, _ reference: ObjectReference, _ scope: Scope, for user: String
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
        // A place that lost its reference may precede others that still have it. More than a few
        // places are not worth a read each.
        for place in places.prefix(4) {
            if try await isSo(place, in: scope, reference.owner, user) { return true }
        }
        return false
    }

    private func isSo(_ place: Place, in scope: Scope, _ owner: String, _ user: String) async throws -> Bool {
        let task = place.document.root ?? place.document
        var names = [task] + (task == place.document ? [] : [place.document])
        if case .list(let list) = scope {
            names.insert(try DocumentName(database: database, collection: "lists", id: list.id), at: 0)
        }
        var found = try await store().get(names, at: .strong).documents.map { try $0?.decoded() }
        var taskOwner = user
        if case .list(let list) = scope {
            guard let document = found.removeFirst(), let shared = SharedList(document),
                shared.participants.isSuperset(of: [owner, user]),
                found.first??.fields["listId"] == .string(list.id)
            else { return false }
            taskOwner = shared.owner
        }
        guard found.first??.fields["userId"] == .string(taskOwner), let holder = found.last ?? nil else { return false }
        return ObjectReference.all(in: holder.fields) { $0 == place.reference }.contains(place.reference)
    }
}
