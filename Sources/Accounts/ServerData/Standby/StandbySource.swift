package import BucketStore
import Glibc
package import HTTPMessages
package import HTTPServer
import JSON
import SQLite
import Synchronization
import SystemIO

/// The part of a running server from which a standby copies its data.
///
/// All calls are below `/.ferry/standby` and need a key of `StandbyKeys`; while there is none, they are not found:
///
/// - `GET /.ferry/standby`: the time, and the names of the databases
/// - `GET /.ferry/standby/database?name=N`: 304 if the database is unchanged since the tag in `If-None-Match`, else
///   an empty answer
/// - `POST /.ferry/standby/database?name=N` with the sums of the blocks that the standby has: the database's
///   `FileDelta` of one moment, and its tag
/// - `GET /.ferry/standby/keys`: the keys that sign tokens
/// - `GET /.ferry/standby/object?name=N`: a file of the bucket store, or an entry of a segment after the first
///   block of the segment
package struct StandbySource: Sendable {
    package static let path = "/.ferry/standby"

    let layout: DataLayout
    private let buckets: DirectoryBucketStore
    private let keys: StandbyKeys
    private let onPull: @Sendable (_ key: StandbyKeys.Key) -> Void
    private let now: @Sendable () -> Int64
    private let isCopying = CopyFlag()

    /// The size in bytes up to which sums are accepted: those of a database of 64 GiB.
    private static let sumsLimit = 64 << 20
    /// The age in microseconds from which the time of a file says whether it has changed.
    private static let settled: Int64 = 2_000_000

    private static let insufficientStorage: HTTPStatus = 507
    /// The free space in bytes that a copy of a database must leave.
    private static let reserve: Int64 = 256 << 20

    /// - Parameters:
    ///   - onPull: Called at the start of each pull.
    ///   - now: Returns the microseconds since 1970.
    package init(
        layout: DataLayout, buckets: DirectoryBucketStore, onPull: @escaping @Sendable (_ key: StandbyKeys.Key) -> Void,
        now: @escaping @Sendable () -> Int64 = WallClock.microseconds
    ) {
        (self.layout, self.buckets, self.onPull, self.now) = (layout, buckets, onPull, now)
        keys = StandbyKeys(layout)
    }

    /// Returns the response to a request; nil for a request with another path.
    package func respond(to request: HTTPServerRequest) async -> HTTPResponse? {
        let path = request.target.path
        guard path == Self.path || path.hasPrefix("\(Self.path)/") else { return nil }
        let name = request.target.query.first { $0.name == "name" }?.value ?? ""
        do {
            guard let key = try keys.key(authorizedBy: request.headers["Authorization"]) else { return try refusal() }
            switch (request.method, path.dropFirst(Self.path.count)) {
            case (.get, ""):
                onPull(key)
                return try overview()
            case (.get, "/database"):
                guard try layout.databases().contains(name) else { return Self.noDatabase }
                let tag = try tag(of: name)
                return HTTPResponse(tag != nil && request.headers["If-None-Match"] == tag ? .notModified : .ok)
            case (.post, "/database"): return try await database(name, request)
            case (.get, "/keys"):
                return HTTPResponse(body: .bytes(try FileSystem.read("\(layout.path)/\(DataLayout.signingKeys)")))
            case (.get, "/object"): return try await object(name)
            default: return .text(.notFound, "There is no such call.\n")
            }
        } catch let error as SystemError where error.code == .notFound {
            return .text(.notFound, "There is no such file.\n")
        } catch {
            return .text(.internalServerError, "The data cannot be read: \(error)\n")
        }
    }

    private func refusal() throws -> HTTPResponse {
        guard try !keys.list().isEmpty else { return .text(.notFound, "There is no such call.\n") }
        var response = HTTPResponse.text(.unauthorized, "This call needs a standby's key.\n")
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    }

    private func overview() throws -> HTTPResponse {
        let names = try layout.databases()
        let json: JSON = ["time": .integer(now()), "databases": .array(names.map { .string($0) })]
        return HTTPResponse(headers: ["Content-Type": "application/json"], body: .bytes(json.bytes))
    }

    // MARK: databases

    private static let noDatabase = HTTPResponse.text(.notFound, "There is no such database.\n")

    private func database(_ name: String, _ request: HTTPServerRequest) async throws -> HTTPResponse {
        guard try layout.databases().contains(name) else { return Self.noDatabase }
        let known = try await request.body.collect(limit: Self.sumsLimit)
        let tag = try tag(of: name)
        let path = "\(layout.path)/\(name)"
        let sizes = try ["", "-wal"].map { path + $0 }.filter(FileSystem.exists).map { try FileSystem.status($0).size }
        guard try sizes.reduce(Self.reserve, +) <= FileSystem.freeSpace(layout.path) else {
            return .text(Self.insufficientStorage, "The server's disk has no space for a copy of \(name).\n")
        }
        guard let turn = isCopying.take() else {
            return HTTPResponse(
                .serviceUnavailable, headers: ["Retry-After": "1"], body: .text("Another copy is in progress.\n"))
        }
        let scratch = "\(layout.path)/standby.snapshot"
        let writer = try await SerialThread.runOnce { _ in
            for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(scratch + suffix) }
            let database = try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly)
            defer { database.close() }
            try database.copyForReading(to: scratch)
            let file = try FileDescriptor(path: scratch, .read)
            // The copy lasts as long as it is open, and is usually never written to the disk.
            try FileSystem.remove(scratch)
            return try FileDeltaWriter(file, known: known)
        }
        let thread = SerialThread()
        let end = ThreadEnd(thread)
        var response = HTTPResponse(
            body: .stream {
                withExtendedLifetime((turn, end)) {}
                return try await thread.run { try writer.next() }
            })
        if let tag { response.headers["ETag"] = tag }
        return response
    }

    /// Returns a tag of the state of a database; nil if a later change might leave the tag as it is.
    private func tag(of name: String) throws -> String? {
        var words: [String] = []
        for suffix in ["", "-wal"] {
            let path = "\(layout.path)/\(name)\(suffix)"
            guard FileSystem.exists(path) else { continue }
            let status = try FileSystem.status(path)
            let time = status.modified
            guard time.seconds < (now() - Self.settled) / 1_000_000 else { return nil }
            words.append("\(status.inode)-\(status.size)-\(time.seconds)-\(time.nanoseconds)")
        }
        return "\"\(words.joined(separator: "."))\""
    }

    // MARK: objects

    private func object(_ name: String) async throws -> HTTPResponse {
        guard let place = ObjectPlace(name) else { return .text(.notFound, "There is no such object.\n") }
        let body = try await buckets.run { [layout] () -> HTTPBody in
            guard case .segment(let span) = place else {
                let object = try StoredObject(place, in: layout.objects)
                let size = object.size
                let span = object.release(0..<size)
                return .file(
                    try FileRange(owning: span.descriptor, offset: span.offset, length: span.length, owner: span.lease))
            }
            return .bytes(try SegmentPiece.read(span, in: layout))
        }
        return HTTPResponse(body: body)
    }
}

/// A flag that one copy at a time holds.
private final class CopyFlag: Sendable {
    private let isTaken = Atomic(false)

    final class Turn: Sendable {
        private let flag: CopyFlag

        init(_ flag: CopyFlag) { self.flag = flag }

        deinit { flag.isTaken.store(false, ordering: .releasing) }
    }

    func take() -> Turn? { isTaken.exchange(true, ordering: .acquiring) ? nil : Turn(self) }
}

/// Stops a thread when the last reference is released.
private final class ThreadEnd: Sendable {
    private let thread: SerialThread

    init(_ thread: SerialThread) { self.thread = thread }

    deinit { thread.stop() }
}
