import Synchronization
package import SystemIO

/// The view of a store from which an `ObjectCollector` deletes unused objects. Every process that
/// uploads to such a store must use this view.
///
/// The view differs from the store in two ways. Objects that are marked for deletion are hidden, as
/// if they were deleted already; a client that needs one uploads it again, which makes it young.
/// And an upload of a marked object counts only if no deletion was in progress meanwhile; otherwise
/// it throws `.transient`, because the deletion may have removed the new object. Marked objects can
/// still be read.
package final class CollectedObjectStore: ObjectStore {
    /// The time for which the list of marked objects is cached. It is far shorter than the time
    /// between marking an object and deleting it.
    private static let trust = Duration.seconds(30)

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    private let storeTime: @Sendable () -> Int64
    private let environment: Environment
    private let known = Mutex<Known?>(nil)

    private struct Known {
        var condemned: CondemnedObjects
        /// The version of the object that holds the list; nil if there is none.
        var version: String?
        var time: Duration
    }

    /// Creates a view of `store`.
    ///
    /// - Parameters:
    ///   - namespace: The user whose objects can be marked for deletion. Other objects are passed
    ///     through.
    ///   - storeTime: The clock of the store in seconds since 1970, accurate to 15 minutes.
    package init(
        _ store: any ObjectStore, namespace: ObjectNamespace, storeTime: @escaping @Sendable () -> Int64,
        environment: Environment = .system
    ) {
        self.store = store
        self.namespace = namespace
        self.storeTime = storeTime
        self.environment = environment
    }

    package func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        guard let reference = namespace.reference(key), try await condemned().contains(reference) else {
            return try await store.put(key, content, type: type, hash: hash)
        }
        let before = try await readCondemned()
        guard !before.isRemoving(at: storeTime()) else { throw Self.isBusy(key) }
        try await store.put(key, content, type: type, hash: hash)
        // A deletion that begins after this check finds that the object is young.
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

    /// The marked objects, at most `trust` old.
    private func condemned() async throws -> CondemnedObjects {
        let now = environment.now()
        if let known = known.withLock({ $0 }), now - known.time < Self.trust { return known.condemned }
        return try await readCondemned()
    }

    /// The marked objects now.
    private func readCondemned() async throws -> CondemnedObjects {
        let now = environment.now()
        let version = try await store.head(namespace.condemned)?.version
        if let known = known.withLock({ $0 }), known.version == version {
            self.known.withLock { $0?.time = now }
            return known.condemned
        }
        // The list may be newer than `version`; it is then read once more at the next call.
        let condemned = try await CondemnedObjects.read(of: namespace, in: store)
        known.withLock { $0 = Known(condemned: condemned, version: version, time: now) }
        return condemned
    }

    private static func isBusy(_ key: ObjectKey) -> ObjectStorageError {
        ObjectStorageError(
            .transient, "cannot put \(key) while unused objects are being deleted; it is put again a little later")
    }
}
