import BucketStore
import DocumentStore
import HTTPMessages
import JSON
import SystemIO

/// The copy of a server's data that a standby keeps.
///
/// A pull gets each database as of one moment, first the documents and last the index of objects, so that every object
/// that a document refers to is in the index. Until all deltas and objects of a pull are on the disk, the databases
/// stay as they are. Then the state names the deltas, and they are applied: whenever the server or the standby ends,
/// the copy is that of the last complete pull, or becomes it at the next pull or when it is promoted.
package actor StandbyCopy {
    package struct Summary: Sendable {
        package var databases = 0
        package var objects = 0
        package var bytes: Int64 = 0
    }

    /// The ends of the names of deltas that are being received, and that are complete, and of the index that a delta
    /// leads to.
    private static let (arriving, ready, next) = (".arriving", ".ready", ".next")
    /// The number of objects that are requested at a time.
    private static let concurrency = 8
    /// The number of objects that are made durable together.
    private static let batch = 256
    /// The maximum number of rounds for objects that are moved while they are copied.
    private static let rounds = 5
    /// The file with the names of the objects that were being written. After a power cut they may be incomplete.
    private static let unsure = "standby.unsure"

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
        try await finish()
        let (time, lead, names) = try await overview()
        for part in Self.parts { try FileSystem.makeDirectories("\(layout.path)/\(part)", mode: 0o700) }
        var (tags, ready): ([String: String], [String]) = ([:], [])
        for name in names {
            let received = try await name == DataLayout.index ? receiveObjects(&summary) : receive(name, &summary)
            tags[name] = received.tag
            if received.isNew { ready.append(name) }
        }
        let keys = try await client.call(.get, "/keys").body.collect(limit: 1 << 20)
        if try FileSystem.readIfPresent("\(layout.path)/\(DataLayout.signingKeys)") != keys {
            try FileSystem.replace("\(layout.path)/\(DataLayout.signingKeys)", with: keys, mode: 0o600)
        }
        (state.asOf, state.lead, state.tags, state.ready) = (time, lead, tags, ready)
        try state.write(in: layout)
        try await finish()
        if ready.contains(DataLayout.index) {
            let layout = layout
            try await SerialThread.runOnce { _ in try Self.removeOthers(in: layout) }
        }
        return summary
    }

    /// The directories with databases.
    private static let parts = ["documents", "accounts", "objects"]

    /// Returns the server's time, by how much its clock is ahead, and the names of its databases, with the index last.
    private func overview() async throws -> (time: Int64, lead: Int64, names: [String]) {
        let sent = now()
        let overview = try JSON(parsing: await client.call(.get, "").body.collect(limit: 1 << 20))
        guard let time = overview["time"]?.integerValue,
            let names = overview["databases"]?.arrayValue?.compactMap(\.stringValue)
        else { throw ServerError(.failed, "\(client.url) is not a server of this version.") }
        let (lead, overflow) = time.subtractingReportingOverflow(sent)
        guard !overflow, lead.magnitude <= StandbyState.leadLimit.magnitude else {
            throw ServerError(
                .failed,
                "The clocks of \(client.url) and of this machine differ by more than a day. Set them right, and copy again."
            )
        }
        for name in names where !StandbyState.isDatabase(name) {
            throw ServerError(.damaged, "The server names a database '\(name)'.")
        }
        let index = names.filter { $0 == DataLayout.index }.prefix(1)
        return (time, max(0, lead), names.filter { $0 != DataLayout.index } + index)
    }

    // MARK: databases

    /// A database as the server answered.
    private struct Received {
        var tag: String?
        /// Whether there is a delta.
        var isNew: Bool
    }

    /// Receives what has changed in a database.
    private func receive(_ name: String, _ summary: inout Summary) async throws -> Received {
        let path = "\(layout.path)/\(name)"
        if let tag = state.tags[name], FileSystem.exists(path),
            try await client.call(.get, "/database", name: name, tag: tag).status == .notModified
        {
            return Received(tag: tag, isNew: false)
        }
        let sums = try await SerialThread.runOnce { _ in try FileBlocks.sums(of: path) }
        let response = try await client.call(.post, "/database", name: name, body: sums)
        let delta = ReceivedDelta(path: path + Self.arriving, copy: path)
        summary.bytes += try await Self.store(response.body, at: delta.path)
        summary.databases += 1
        try await SerialThread.runOnce { _ in
            try delta.check()
            try FileDescriptor(path: delta.path, .read).synchronize()
            try FileSystem.rename(delta.path, to: path + Self.ready)
            try Directory(path: FileSystem.split(path).parent).synchronize()
        }
        return Received(tag: response.headers["ETag"], isNew: true)
    }

    /// Completes the last complete pull, and drops what an unfinished one has left.
    private func finish() async throws {
        let (layout, names) = (layout, state.ready)
        try await SerialThread.runOnce { _ in try Self.finish(names, in: layout) }
        guard !names.isEmpty else { return }
        state.ready = []
        try state.write(in: layout)
    }

    /// Applies the deltas of a complete pull, and removes others.
    private static func finish(_ names: [String], in layout: DataLayout) throws {
        for path in names.map({ "\(layout.path)/\($0)" }) where FileSystem.exists(path + ready) {
            // A log that a reader of the copy has left belongs to the older copy.
            for suffix in ["-wal", "-shm"] { try FileSystem.remove(path + suffix) }
            try ReceivedDelta(path: path + ready, copy: path).apply()
            try Directory(path: FileSystem.split(path).parent).synchronize()
            try FileSystem.remove(path + ready)
        }
        let ends = [arriving, ready, next, "\(next)-wal", "\(next)-shm"]
        for part in parts.map({ "\(layout.path)/\($0)" }) where FileSystem.exists(part) {
            for entry in try Directory(path: part).entries() where ends.contains(where: entry.name.hasSuffix) {
                try FileSystem.remove("\(part)/\(entry.name)")
            }
        }
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

    /// Receives the index, and copies its objects that are not here. Repeats both while the server moves objects.
    private func receiveObjects(_ summary: inout Summary) async throws -> Received {
        let path = "\(layout.path)/\(DataLayout.index)"
        var lacking: Set<String> = []
        for _ in 0..<Self.rounds {
            let received = try await receive(DataLayout.index, &summary)
            guard received.isNew else { return received }
            try await SerialThread.runOnce { _ in
                try ReceivedDelta(path: path + Self.ready, copy: path).check(writing: path + Self.next)
            }
            // What a newer index still has at the same place is absent on the server, too.
            let left = try await copyMissing(&summary)
            if left.isSubset(of: lacking) { return received }
            lacking = left
        }
        throw ServerError(.failed, "Objects change faster than they can be copied. Try again at a quieter time.")
    }

    /// Copies the objects of the next index that are not here. Returns the names of those that still are not.
    private func copyMissing(_ summary: inout Summary) async throws -> Set<String> {
        let (layout, unsure) = (layout, "\(layout.path)/\(Self.unsure)")
        let missing = try await SerialThread.runOnce { _ in try Self.missing(in: layout) }
        for start in stride(from: 0, to: missing.count, by: Self.batch) {
            let batch = missing[start..<min(start + Self.batch, missing.count)]
            let names = batch.map(\.0).joined(separator: "\n")
            try FileSystem.replace(unsure, with: Array(names.utf8), mode: 0o600)
            try await copy(batch, &summary)
            try await SerialThread.runOnce { _ in
                try FileDescriptor(path: layout.objects, [.read, .directory]).synchronizeFileSystem()
            }
        }
        try FileSystem.remove(unsure)
        guard !missing.isEmpty else { return [] }
        return Set(try await SerialThread.runOnce { _ in try Self.missing(in: layout).map(\.0) })
    }

    private func copy(_ batch: ArraySlice<(String, ObjectPlace)>, _ summary: inout Summary) async throws {
        var places = batch.makeIterator()
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
    }

    /// Returns the objects of the next index that are not here, or perhaps not completely.
    private static func missing(in layout: DataLayout) throws -> [(String, ObjectPlace)] {
        let text = try FileSystem.readIfPresent("\(layout.path)/\(unsure)") ?? []
        let unsure = Set(String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init))
        var missing: [(String, ObjectPlace)] = []
        try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)\(next)") { file, size, _, _ in
            let place = try place(file)
            if unsure.contains(file) || (try? StoredObject(place, in: layout.objects).size) != size {
                missing.append((file, place))
            }
        }
        return missing
    }

    private static func place(_ file: String) throws -> ObjectPlace {
        guard let place = ObjectPlace(file) else { throw ServerError(.damaged, "The index refers to \(file).") }
        return place
    }

    /// Copies an object. Returns its bytes; nil if the server has removed or moved it.
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
        try await write(piece, span)
        return Int64(piece.count)
    }

    /// Writes an entry of a segment. The actor writes one at a time, because the first one begins the segment.
    private func write(_ piece: [UInt8], _ place: SegmentPlace) throws {
        try SegmentPiece.write(piece, place, in: layout)
    }

    /// Removes the files that the index does not know.
    private static func removeOthers(in layout: DataLayout) throws {
        var known = Set<String>()
        try DataLayout.forEachFile(in: "\(layout.path)/\(DataLayout.index)") { file, _, _, _ in
            known.insert(try place(file).path)
        }
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
    /// notices that. Commit times begin after all those of the former server, by whose clock
    /// listeners resume; those that resume from a time after the last commit of the copy start over.
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
        try finish(state.ready, in: layout)
        for name in try layout.databases() where layout.isOfDocuments(name) {
            try DataLayout.documentFile("\(layout.path)/\(name)").takeOver(at: now + state.lead + promotionMargin)
        }
        try FileSystem.remove("\(layout.path)/\(unsure)")
        try FileSystem.remove("\(layout.path)/\(StandbyState.file)")
        try Directory(path: layout.path).synchronize()
        return state
    }

    /// The microseconds by which the clock of a promoted copy is set ahead: longer than the lease of the former one.
    private static let promotionMargin: Int64 = 2_000_000
}
