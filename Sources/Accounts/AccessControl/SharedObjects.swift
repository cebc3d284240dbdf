package import DocumentModel
package import DocumentStore
import FirestoreServer
import ObjectStorage

/// Decides which objects of others a user may read: those that the user's own tasks, the tasks of a
/// list in which both take part, or the history below these reference now.
///
/// A task of the user's own may only have got such a reference while the user could read the object
/// (see `DocumentAccess.prepare`), so an attachment stays with its task when its uploader leaves
/// the list. A reference names an object itself, or a manifest that lists it. What tasks reference
/// is kept in memory, so that a request costs the reading of one list and one task; it is collected
/// again at most once for each change.
package actor SharedObjects {
    /// Tasks whose references are collected together.
    private enum Scope: Hashable {
        /// The tasks of a shared list.
        case list(SharedList)
        /// The tasks that a user owns, in whatever list.
        case own(user: String)

        /// What names the scope while its members change.
        var key: [String] {
            switch self {
            case .list(let list): ["list", list.id]
            case .own(let user): ["own", user]
            }
        }

        /// What selects its tasks and the history below them.
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

        /// Whether the references to the objects of a user are of interest: everybody reads their own anyway.
        func concerns(objectsOf owner: String) -> Bool {
            if case .own(let user) = self { owner != user } else { true }
        }
    }

    /// Where a scope references an object.
    private struct Place: Sendable {
        /// The task, or an entry of its history.
        let document: DocumentName
        /// What stands there: the object, or the manifest that lists it.
        let reference: ObjectReference
    }

    /// What the tasks of a scope reference.
    private struct Index: Sendable {
        /// The changes that had been counted when it was collected.
        let count: UInt64
        /// When it may be collected again: one that took long is not collected again for some time,
        /// so that nobody keeps the server busy with it.
        var renewal: ContinuousClock.Instant?
        var places: [ObjectReference: DocumentName] = [:]
        var manifests: [ObjectReference] = []
        /// By the first bytes of a chunk's hash, the position in `manifests` of one that lists it.
        /// The owner of the manifest owns the chunks and has put both there, so a hash that only
        /// begins alike opens nothing to others that they could ask for.
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
    /// A collection that takes longer than this is followed by a pause of four times its duration.
    private static let quickCollection = Duration.milliseconds(100)

    nonisolated let changes = SharingChanges()
    nonisolated let database: DatabaseName
    private let store: @Sendable () async throws -> any DocumentStore
    private let manifest: @Sendable (_ key: String) async throws -> [UInt8]?
    private var indexes: [[String]: Index] = [:]
    private var collecting: [[String]: (count: UInt64, task: Task<Index, any Error>)] = [:]
    private var circles: [String: Circle] = [:]

    /// - Parameter manifest: reads an object of the users' bucket; nil where there is none.
    package init(
        database: DatabaseName, store: @escaping @Sendable () async throws -> any DocumentStore,
        manifest: @escaping @Sendable (_ key: String) async throws -> [UInt8]?
    ) {
        self.database = database
        self.store = store
        self.manifest = manifest
    }

    /// Whether a user may read the object at `key`, which is not among his own.
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

    // MARK: What tasks reference

    /// Collects what the tasks of a scope reference now. A collection that is in progress is waited
    /// for, so that there is one at a time.
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
                guard DocumentAccess.isAmongTasks(document.name) else { continue }
                // A task that references the same comes first, and is what is likeliest to stay.
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

    /// Whether a task of the scope references the object now, as one of the places says that it did.
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
        // One that went may stand in front of others that did not; more than a few alike are not worth a read each.
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
