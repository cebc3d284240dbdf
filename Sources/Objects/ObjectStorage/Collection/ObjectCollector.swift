/// Takes away, from a store that cannot hide what it is about to lose, what nobody needs any more of one user; see `CollectionTerms`.
/// Machines may use the store meanwhile, through a `CollectedObjectStore` each.
///
/// What is condemned is kept in the store itself, as `CondemnedObjects`. A removal is announced there first. Then everything is listed
/// once more: what was put before a machine could see the announcement shows to be young, and what is put later does not count for who
/// puts it. Killed at any point it leaves at worst an announcement, during which nothing that is condemned can be put again.
///
/// No two collectors may be at work on the same objects, and nobody else may need them: a copy of a server with documents of its own
/// is to have a bucket of its own.
package struct ObjectCollector: Sendable {
    /// In seconds: how long one removal may take. What is left then is removed by the next.
    private static let removalSpan: Int64 = 900
    private static let width = 8

    private let store: any ObjectStore
    private let namespace: ObjectNamespace
    /// In seconds.
    private let grace: Int64
    private let youth: Int64
    private let now: @Sendable () -> Int64

    package struct Stored: Sendable {
        package let reference: ContentReference
        package let size: Int64
        /// In seconds since 1970; nil where the store does not tell.
        package let modified: Int64?

        package init(_ reference: ContentReference, size: Int64, modified: Int64?) {
            self.reference = reference
            self.size = size
            self.modified = modified
        }
    }

    package struct Outcome: Sendable {
        package var needed: [Stored] = []
        /// Nothing needs them, and their time has not come.
        package var unused: [Stored] = []
        /// Or to be removed, where nothing was to be changed.
        package var removed: [Stored] = []
    }

    /// - Parameters:
    ///   - store: not seen through a `CollectedObjectStore`.
    ///   - grace: in seconds, as is `youth`; more than an hour.
    ///   - now: the store's clock, in seconds since 1970.
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

    /// - Parameters:
    ///   - objects: all that the store has of the user.
    ///   - needed: asked after the store was, so that what came between is not among `objects`.
    ///   - changes: false only tells what would be done.
    /// - Throws: what the store throws. What was removed until then is gone, and the next collection does the rest.
    package func collect(
        _ objects: [Stored], needed: (ContentReference) -> Bool, changes: Bool
    ) async throws -> Outcome {
        var condemned = try await CondemnedObjects.read(of: namespace, in: store)
        let known = condemned
        var outcome = Outcome()
        var dead: [ContentReference: Stored] = [:]
        let terms = CollectionTerms(now: now(), grace: grace, youth: youth)
        // One that was cut short may still be at work; until it is not, nothing is changed.
        let isRemoving = condemned.isRemoving(at: terms.now)
        condemned.endRemoval()
        // The others were removed by one that was cut short.
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

    /// - Returns: what is gone. What there was no time for stays condemned.
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
