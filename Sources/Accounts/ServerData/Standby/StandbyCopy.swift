import BucketStore
import DocumentStore
import HTTPMessages
import JSON
import SystemIO

/// The copy of a server's data that a standby keeps.
///
/// A pull gets each database as of one moment, first the documents and last the index of objects, so that every object
/// that a document refers to is in the index. Deltas are complete and checked on disk before a copy is changed:
/// whenever the server or the standby ends, the copy is that of some pull, or becomes it when it is promoted.
package actor StandbyCopy {
    package struct Summary: Sendable {
        package var databases = 0
        package var objects = 0
        package var bytes: Int64 = 0
    }

    /// The ends of the names of deltas that are being received, and that are complete.
    private static let (arriving, ready) = (".arriving", ".ready")
    /// The number of objects that are requested at a time.
    private static let concurrency = 8

    private let layout: DataLayout
    private let client: StandbyClient
    private let now: @Sendable () -> Int64
    private var state: StandbyState

    /// Opens the copy in a data directory, which the caller has locked, or begins one in an empty directory.
    ///
    /// - Parameter now: Returns the microseconds since 1970.
    /// - Throws: `ServerError` with `.inUse` if the directory has data that is not a copy of this server's.
    package init(
        _ layout: DataLayout, from client: StandbyClient, now: @escaping @Sendable () -> Int64 = WallClock.microseconds
    ) throws {
        (self.layout, self.client, self.now) = (layout, client, now)
        if let state = try StandbyState(in: layout) {
            guard state.source == client.url else {
                throw ServerError(
                    .inUse, "\(layout.path) is a copy of \(state.source). Name another directory with --data.")
            }
            self.state = state
        } else {
            guard !FileSystem.exists("\(layout.path)/documents"),
                !FileSystem.exists("\(layout.path)/\(DataLayout.accounts)")
            else {
                throw ServerError(
                    .inUse, "\(layout.path) has data of its own. Name an empty directory with --data.")
            }
            state = StandbyState(source: client.url)
            try state.write(in: layout)
        }
    }

    /// Makes the copy that of the server's present data.
    package func pull() async throws -> Summary {
        var summary = Summary()
        let sent = now()
        let overview = try JSON(parsing: await client.call(.get, "").body.collect(limit: 1 << 20))
        guard let time = overview["time"]?.integerValue,
            let names = overview["databases"]?.arrayValue?.compactMap(\.stringValue)
        else { throw ServerError(.failed, "\(client.url) is not a server of this version.") }
        for part in ["documents", "accounts", "objects"] {
            try FileSystem.makeDirectories("\(layout.path)/\(part)", mode: 0o700)
        }
        var tags: [String: String] = [:]
        for name in names {
            try Self.check(name)
            tags[name] = try await receive(name, &summary)
        }
        let keys = try await client.call(.get, "/keys").body.collect(limit: 1 << 20)
        if try FileSystem.readIfPresent("\(layout.path)/\(DataLayout.signingKeys)") != keys {
            try FileSystem.replace("\(layout.path)/\(DataLayout.signingKeys)", with: keys, mode: 0o600)
        }
        try await complete(DataLayout.index)
        if tags[DataLayout.index] == nil || tags[DataLayout.index] != state.tags[DataLayout.index] {
            try await copyObjects(&summary)
        }
        for name in names { try await complete(name) }
        (state.asOf, state.lead, state.tags) = (time, max(0, time - sent), tags)
        try state.write(in: layout)
        return summary
    }

    /// Only the names of databases of a server are accepted, so that none leads to another file.
    private static func check(_ name: String) throws {
        let file = name.dropFirst("documents/".count)
        guard
            [DataLayout.accounts, DataLayout.index].contains(name)
                || name.hasPrefix("documents/") && file.hasSuffix(".db") && !file.contains("/") && !file.hasPrefix(".")
        else { throw ServerError(.damaged, "The server names a database '\(name)'.") }
    }

    // MARK: databases

    /// Receives what has changed in a database. Returns its tag.
    private func receive(_ name: String, _ summary: inout Summary) async throws -> String? {
        let path = "\(layout.path)/\(name)"
        let sums = try await SerialThread.runOnce { _ in try FileBlocks.sums(of: path) }
        let tag = FileSystem.exists(path) ? state.tags[name] : nil
        let response = try await client.call(.post, "/database", name: name, body: sums, tag: tag)
        guard response.status == .ok else { return tag }
        let delta = ReceivedDelta(path: path + Self.arriving, copy: path)
        summary.bytes += try await Self.store(response.body, at: delta.path)
        summary.databases += 1
        try await SerialThread.runOnce { _ in
            try delta.check()
            try FileDescriptor(path: delta.path, .read).synchronize()
            try FileSystem.rename(delta.path, to: path + Self.ready)
            try Directory(path: FileSystem.split(path).parent).synchronize()
        }
        return response.headers["ETag"]
    }

    /// Applies the complete delta of a database, if there is one.
    private func complete(_ name: String) async throws {
        let path = "\(layout.path)/\(name)"
        try await SerialThread.runOnce { _ in try Self.applyDelta(at: path) }
    }

    private static func applyDelta(at path: String) throws {
        guard FileSystem.exists(path + ready) else { return }
        // A log that a reader of the copy has left belongs to the older copy.
        for suffix in ["-wal", "-shm"] { try FileSystem.remove(path + suffix) }
        try ReceivedDelta(path: path + ready, copy: path).apply()
        try FileSystem.remove(path + ready)
    }

    private static func store(_ body: HTTPBody, at path: String) async throws -> Int64 {
        let output = try FileDescriptor(path: path, [.readWrite, .create, .truncate], mode: 0o600)
        var count: Int64 = 0
        for try await bytes in body {
            try output.write(bytes)
            count += Int64(bytes.count)
        }
        return count
    }

    // MARK: objects

    /// Copies the objects of the index that are not here, and removes the files of others.
    private func copyObjects(_ summary: inout Summary) async throws {
        let layout = layout
        let (missing, known) = try await SerialThread.runOnce { _ in try Self.missing(in: layout) }
        var places = missing.makeIterator()
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<Self.concurrency {
                if let (name, place) = places.next() { group.addTask { try await self.copy(name, place) } }
            }
            while let bytes = try await group.next() {
                if let bytes {
                    summary.objects += 1
                    summary.bytes += bytes
                }
                if let (name, place) = places.next() { group.addTask { try await self.copy(name, place) } }
            }
        }
        try await SerialThread.runOnce { _ in
            if !missing.isEmpty {
                try FileDescriptor(path: layout.objects, [.read, .directory]).synchronizeFileSystem()
            }
            try Self.removeOthers(known, in: layout)
        }
    }

    /// Returns the objects of the index that are not here, and the paths of the files of all.
    private static func missing(in layout: DataLayout) throws -> (missing: [(String, ObjectPlace)], known: Set<String>)
    {
        var (missing, known): ([(String, ObjectPlace)], Set<String>) = ([], [])
        try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, size, _, _ in
            guard let place = ObjectPlace(file) else { throw ServerError(.damaged, "The index refers to \(file).") }
            known.insert(place.path)
            if (try? StoredObject(place, in: layout.objects).size) != size { missing.append((file, place)) }
        }
        return (missing, known)
    }

    /// Copies an object. Returns its bytes; nil if the server has removed or moved it, which the next index shows.
    private nonisolated func copy(_ name: String, _ place: ObjectPlace) async throws -> Int64? {
        let body: HTTPBody
        do { body = try await client.call(.get, "/object", name: name).body } catch let error as ServerError
            where error.code == .notFound
        { return nil }
        guard case .segment(let span) = place else {
            let path = "\(layout.objects)/\(place.path)"
            try FileSystem.makeDirectories(FileSystem.split(path).parent, mode: 0o700)
            let count = try await Self.store(body, at: path + Self.arriving)
            try FileSystem.rename(path + Self.arriving, to: path)
            return count
        }
        let piece = try await body.collect(limit: 2 * Int(SegmentPlace.sizeLimit))
        try SegmentPiece.write(piece, span, in: layout)
        return Int64(piece.count)
    }

    private static func removeOthers(_ known: Set<String>, in layout: DataLayout) throws {
        var directories = ["segments"]
        if FileSystem.exists("\(layout.objects)/files") {
            directories += try Directory(path: "\(layout.objects)/files").entries().map { "files/\($0.name)" }
        }
        for directory in directories where FileSystem.exists("\(layout.objects)/\(directory)") {
            for entry in try Directory(path: "\(layout.objects)/\(directory)").entries() {
                let path = "\(directory)/\(entry.name)"
                if !known.contains(path) { try FileSystem.remove("\(layout.objects)/\(path)") }
            }
        }
    }

    // MARK: promotion

    /// Makes the copy in a data directory, which the caller has locked, that of a server of its own.
    ///
    /// The epoch stays, so machines go on as if nothing had happened, and one that knows a commit that the copy lacks
    /// notices that. Commit times begin after all those of the former server, by whose clock listeners resume.
    ///
    /// - Parameter now: The microseconds since 1970.
    /// - Returns: The state that ended.
    /// - Throws: `ServerError` if the directory is not that of a standby, or has no complete copy.
    package static func promote(_ layout: DataLayout, now: Int64) throws -> StandbyState {
        guard let state = try StandbyState(in: layout) else {
            throw ServerError(.notFound, "\(layout.path) is not the directory of a standby.")
        }
        guard state.asOf != nil else {
            throw ServerError(.failed, "\(layout.path) has no complete copy of \(state.source) yet.")
        }
        for name in try layout.databases() {
            let path = "\(layout.path)/\(name)"
            try FileSystem.remove(path + arriving)
            try applyDelta(at: path)
            if layout.isOfDocuments(name) {
                try DataLayout.documentFile(path).advanceClock(to: now + state.lead + promotionMargin)
            }
        }
        try FileSystem.remove("\(layout.path)/\(StandbyState.file)")
        try Directory(path: layout.path).synchronize()
        return state
    }

    /// The microseconds by which the clock of a promoted copy is set ahead: longer than the lease of the former one.
    private static let promotionMargin: Int64 = 2_000_000
}
