package import DocumentModel
package import ObjectStorage
package import PostgreSQL
import PostgresStore
import SystemIO

/// A collection like `ObjectCollection` in a bucket of another S3 store, with keys of the server's
/// own; see `ObjectCollector`. It may run beside a running server, but not beside another
/// collection of the same bucket.
package struct ForeignCollection: Sendable {
    let layout: DataLayout
    let store: any ObjectStore
    /// The store's clock, in seconds since 1970.
    let now: @Sendable () -> Int64
    let graceDays: Int
    /// The documents, and the lease of the servers that use them; nil if the documents are in the
    /// data directory.
    var database: (documents: PostgresDocuments, lease: PostgresLease)?

    private static let youth: Int64 = 24 * 3600

    package init(layout: DataLayout, store: any ObjectStore, now: @escaping @Sendable () -> Int64, graceDays: Int) {
        (self.layout, self.store, self.now, self.graceDays) = (layout, store, now, graceDays)
    }

    /// Makes the collection look for references in PostgreSQL, and run on one of its servers at a
    /// time.
    package mutating func use(_ database: DatabaseName, _ server: PostgresConfiguration) {
        self.database = (PostgresDocuments(database, server), PostgresLease("collection of objects", server))
    }

    /// Runs the collection. If it is cancelled it throws `CancellationError`, and the next run does
    /// the rest.
    ///
    /// - Parameter changes: Whether to mark and remove objects; false only reports.
    /// - Returns: The report, which is empty if another server runs the collection.
    package func run(changes: Bool) async throws -> CollectionReport {
        guard let database else { return try await run(changes: changes, renew: {}) }
        return try await database.lease.run { try await run(changes: changes, renew: $0) } ?? CollectionReport()
    }

    private func run(changes: Bool, renew: @Sendable () throws -> Void) async throws -> CollectionReport {
        guard let lock = try FileLock.acquire("\(layout.path)/collection.lock") else {
            throw ServerError(.failed, "another collection of the same objects is in progress; wait until it has ended")
        }
        defer { extendLifetime(lock) }
        // First what is stored, then what is needed: an object that came between is not among those looked at.
        let stored = try await ObjectInventory(store).objects()
        let references = try await references(of: Set(stored.keys.map(\.user)))
        var report = CollectionReport()
        var missing = references.present.manifests.union(references.present.chunks)
        for (namespace, objects) in stored.sorted(by: { $0.key.user < $1.key.user }) {
            missing.subtract(objects.lazy.map(\.reference.id))
            try renew()
            do {
                try await collect(objects, of: namespace, references, changes: changes, &report)
            } catch let error as ObjectStorageError where !error.code.isTransient {
                report.problems.append("the objects of the user \(namespace.user) are left unchanged: \(error)")
            }
        }
        report.problems += missing.map { "the object \($0) is missing, and documents refer to it" }.sorted()
        return report
    }

    private func collect(
        _ objects: [ObjectCollector.Stored], of namespace: ObjectNamespace, _ references: ObjectReferences,
        changes: Bool,
        _ report: inout CollectionReport
    ) async throws {
        guard references.usersWithDocuments.contains(namespace.user) else {
            report.problems.append(
                "the user \(namespace.user) has objects and no documents here; they are left unchanged")
            for object in objects { report.needed.add(object.size) }
            return
        }
        let manifests = objects.compactMap { object -> ContentHash? in
            guard case .manifest(let id) = object.reference, references.manifests.contains(id) else { return nil }
            return id
        }
        let chunks = try await ObjectInventory(store).chunks(of: manifests, in: namespace)
        let there = Set(objects.lazy.map(\.reference))
        for chunk in chunks.sorted() where !there.contains(.chunk(chunk)) {
            report.problems.append(
                "the chunk \(chunk) of the user \(namespace.user) is missing, and manifests refer to it")
        }
        let needed = chunks.union(references.manifests).union(references.chunks)
        let collector = ObjectCollector(
            store, namespace: namespace, grace: Int64(graceDays) * 24 * 3600, youth: Self.youth, now: now)
        let outcome = try await collector.collect(objects, needed: { needed.contains($0.id) }, changes: changes)
        for object in outcome.needed { report.needed.add(object.size) }
        for object in outcome.unused { report.unused.add(object.size) }
        for object in outcome.removed { report.removed.add(object.size) }
    }

    private func references(of users: Set<String>) async throws -> ObjectReferences {
        try await SerialThread.runOnce { [layout, database] _ in
            if let database { return try ObjectReferences(in: database.documents, of: users) }
            return try ObjectReferences(in: layout, of: users)
        }
    }
}
