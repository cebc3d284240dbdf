/// Deletes the unused objects of one user from a store that cannot hide the objects that it is
/// about to delete; see `CollectionTerms`. Devices may use the store at the same time, each through
/// a `CollectedObjectStore`.
///
/// The list of marked objects is kept in the store, as `CondemnedObjects`. Each deletion is first
/// announced there. Then all objects are listed once more: an object that was uploaded before its
/// client could see the announcement is now young, and an upload after the announcement fails for
/// its client. If the process is killed, at worst an announcement remains, during which no marked
/// object can be uploaded again.
///
/// Only one collector may work on the objects of a user, and only the documents that it considers
/// may refer to them: a copy of a server with documents of its own needs a bucket of its own.
package struct ObjectCollector: Sendable {
    /// The maximum duration of one deletion in seconds. The next collection deletes the rest.
    private static let removalSpan: Int64 = 900
    private static let width = 8

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    /// The grace period in seconds.
    private let grace: Int64
    private let youth: Int64
    private let now: @Sendable () -> Int64

    /// An object in the store.
    package struct Stored: Sendable {
        package let reference: ContentReference
        package let size: Int64
        /// The time at which the object was last uploaded, in seconds since 1970; nil if the store
        /// does not know.
        package let modified: Int64?

        package init(_ reference: ContentReference, size: Int64, modified: Int64?) {
            self.reference = reference
            self.size = size
            self.modified = modified
        }
    }

    /// The objects of a collection by what became of them.
    package struct Outcome: Sendable {
        package var needed: [Stored] = []
        /// The unused objects that stay for now.
        package var unused: [Stored] = []
        /// The deleted objects. If nothing was to be changed, those that would have been deleted.
        package var removed: [Stored] = []
    }

    /// Creates a collector.
    ///
    /// - Parameters:
    ///   - store: The store itself, not a `CollectedObjectStore`.
    ///   - grace: How long an object stays marked before it is deleted, in seconds; more than an
    ///     hour.
    ///   - youth: The age in seconds below which an object is not marked.
    ///   - now: The clock of the store in seconds since 1970.
    package init(
        _ store: any ObjectStore, namespace: ObjectNamespace, grace: Int64, youth: Int64,
        now: @escaping @Sendable () -> Int64
    ) {
        self.store = store
        self.namespace = namespace
        self.grace = grace
        self.youth = youth
        self.now = now
    }

    /// Marks and deletes unused objects.
    ///
    /// - Parameters:
    ///   - objects: All objects of the user in the store.
    ///   - needed: Whether a document refers to an object. It must be computed after `objects` was
    ///     listed, so that objects that were uploaded in between are not among `objects`.
    ///   - changes: False to return what would be done without changing anything.
    /// - Throws: The errors of the store. Objects that were deleted before the error are gone; the
    ///   next collection does the rest.
    package func collect(
        _ objects: [Stored], needed: (ContentReference) -> Bool, changes: Bool
    ) async throws -> Outcome {
        var condemned = try await CondemnedObjects.read(of: namespace, in: store)
        let known = condemned
        var outcome = Outcome()
        var dead: [ContentReference: Stored] = [:]
        let terms = CollectionTerms(now: now(), grace: grace, youth: youth)
        // An interrupted deletion may still be in progress, and nothing may be changed until it has
        // ended.
        let isRemoving = condemned.isRemoving(at: terms.now)
        condemned.endRemoval()
        // The other objects were deleted by an interrupted deletion.
        condemned.keepOnly(Set(objects.lazy.map(\.reference)))
        for object in objects {
            let (reference, isNeeded) = (object.reference, needed(object.reference))
            let verdict = terms.verdict(
                isNeeded: isNeeded, modified: object.modified ?? terms.now, condemned: condemned.since[reference])
            switch verdict {
            case .remove where !isRemoving:
                dead[reference] = object
                continue
            case .condemn: condemned.condemn(reference, at: terms.now)
            case .acquit: condemned.forget(reference)
            case .keep, .wait, .remove: break
            }
            if isNeeded { outcome.needed.append(object) } else { outcome.unused.append(object) }
        }
        guard changes else {
            outcome.removed = Array(dead.values)
            return outcome
        }
        if isRemoving { return outcome }
        if dead.isEmpty {
            if condemned != known { try await write(condemned) }
        } else {
            outcome.removed = try await remove(dead, &condemned)
            outcome.unused += dead.values.filter { condemned.contains($0.reference) }
        }
        return outcome
    }

    /// Deletes objects and returns those that are deleted. Objects for which the time did not
    /// suffice stay marked.
    private func remove(
        _ dead: [ContentReference: Stored], _ condemned: inout CondemnedObjects
    ) async throws -> [Stored] {
        let end = now() + Self.removalSpan
        condemned.beginRemoval(until: end)
        try await write(condemned)
        var unchanged: [Stored] = []
        try await store.forEach(prefix: "\(namespace.user)/") { info in
            guard let reference = namespace.reference(info.key), let object = dead[reference] else { return }
            if info.modified == object.modified { unchanged.append(object) } else { condemned.forget(reference) }
        }
        let removed = try await withThrowingTaskGroup(of: Void.self) { group in
            var removed: [Stored] = []
            for object in unchanged {
                guard now() < end else { break }
                if removed.count >= Self.width { try await group.next() }
                group.addTask { try await store.delete(object.reference.key(in: namespace)) }
                removed.append(object)
            }
            try await group.waitForAll()
            return removed
        }
        for object in removed { condemned.forget(object.reference) }
        condemned.endRemoval()
        try await write(condemned)
        return removed
    }

    private func write(_ condemned: CondemnedObjects) async throws {
        try await store.put(namespace.condemned, condemned.bytes, type: .json)
    }
}
