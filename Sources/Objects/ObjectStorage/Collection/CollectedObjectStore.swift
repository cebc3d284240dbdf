import Synchronization
package import SystemIO

/// A store from which an `ObjectCollector` takes away what nobody needs any more, as those who put objects there are to see it.
///
/// It has two rules. What is condemned is not shown, as if it was gone already, so that whoever needs it puts it again, which makes
/// it young. And a put of what is condemned counts only if no removal was under way meanwhile; otherwise it throws `.transient`, as the
/// removal may have come after it. All else is as in the store beneath. Condemned objects can still be read.
package final class CollectedObjectStore: ObjectStore {
    /// How long what is condemned is not asked for again. It is shorter by far than anything stays condemned before it is removed.
    private static let trust = Duration.seconds(30)

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    private let storeTime: @Sendable () -> Int64
    private let surroundings: Surroundings
    private let known = Mutex<Known?>(nil)

    private struct Known {
        var condemned: CondemnedObjects
        /// Of the object that says so; nil: there is none.
        var version: String?
        var time: Duration
    }

    /// - Parameters:
    ///   - namespace: outside it nothing is condemned.
    ///   - storeTime: the store's clock, in seconds since 1970, give or take a quarter of an hour.
    package init(
        _ store: any ObjectStore, namespace: ObjectNamespace, storeTime: @escaping @Sendable () -> Int64,
        surroundings: Surroundings = .system
    ) {
        self.store = store
        self.namespace = namespace
        self.storeTime = storeTime
        self.surroundings = surroundings
    }

    package func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        guard let reference = namespace.reference(key), try await condemned().contains(reference) else {
            return try await store.put(key, content, type: type, hash: hash)
        }
        let before = try await readCondemned()
        guard !before.isRemoving(at: storeTime()) else { throw Self.isBusy(key) }
        try await store.put(key, content, type: type, hash: hash)
        // A removal that begins later finds the object to be young.
        guard try await readCondemned().removals == before.removals else { throw Self.isBusy(key) }
    }

    package func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try await store.get(key, range: range)
    }

    package func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] { try await store.read(key, limit: limit) }

    package func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        if let reference = namespace.reference(key), try await condemned().contains(reference) { return nil }
        return try await store.head(key)
    }

    package func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        let page = try await store.list(prefix: prefix, after: after, limit: limit)
        guard page.objects.contains(where: { namespace.reference($0.key) != nil }) else { return page }
        let condemned = try await condemned()
        let shown = page.objects.filter { namespace.reference($0.key).map { !condemned.contains($0) } ?? true }
        return ObjectPage(objects: shown, next: page.next)
    }

    package func delete(_ key: ObjectKey) async throws { try await store.delete(key) }

    /// What was condemned a short while ago.
    private func condemned() async throws -> CondemnedObjects {
        let now = surroundings.now()
        if let known = known.withLock({ $0 }), now - known.time < Self.trust { return known.condemned }
        return try await readCondemned()
    }

    /// What is condemned now.
    private func readCondemned() async throws -> CondemnedObjects {
        let now = surroundings.now()
        let version = try await store.head(namespace.condemned)?.version
        if let known = known.withLock({ $0 }), known.version == version {
            self.known.withLock { $0?.time = now }
            return known.condemned
        }
        // May be a later one than that of `version`, and is then read once more next time.
        let condemned = try await CondemnedObjects.read(of: namespace, in: store)
        known.withLock { $0 = Known(condemned: condemned, version: version, time: now) }
        return condemned
    }

    private static func isBusy(_ key: ObjectKey) -> ObjectStorageError {
        ObjectStorageError(
            .transient, "cannot put \(key) while what nobody needs is being removed; it is put a little later")
    }
}
