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
/// All calls are below `/.ferry/standby` and need an administrator's access token:
///
/// - `GET /.ferry/standby`: the time, and the names of the databases
/// - `POST /.ferry/standby/database?name=N` with the sums of the blocks that the standby has: the database's
///   `FileDelta` of one moment; 304 if it is unchanged since the `If-None-Match` of an earlier answer
/// - `GET /.ferry/standby/keys`: the keys that sign tokens
/// - `GET /.ferry/standby/object?name=N`: a file of the bucket store, or an entry of a segment after the first
///   block of the segment
package struct StandbySource: Sendable {
    package static let path = "/.ferry/standby"

    let layout: DataLayout
    private let buckets: DirectoryBucketStore
    private let isAdministrator: @Sendable (_ authorization: String?) -> Bool
    private let now: @Sendable () -> Int64
    private let isCopying = CopyFlag()

    /// The size in bytes up to which sums are accepted: those of a database of 64 GiB.
    private static let sumsLimit = 64 << 20
    /// The age in microseconds from which the time of a file says whether it has changed.
    private static let settled: Int64 = 2_000_000

    /// - Parameter now: Returns the microseconds since 1970.
    package init(
        layout: DataLayout, buckets: DirectoryBucketStore,
        isAdministrator: @escaping @Sendable (_ authorization: String?) -> Bool,
        now: @escaping @Sendable () -> Int64 = WallClock.microseconds
    ) {
        (self.layout, self.buckets, self.isAdministrator, self.now) = (layout, buckets, isAdministrator, now)
    }

    /// Returns the response to a request; nil for a request with another path.
    package func respond(to request: HTTPServerRequest) async -> HTTPResponse? {
        let path = request.target.path
        guard path == Self.path || path.hasPrefix("\(Self.path)/") else { return nil }
        guard isAdministrator(request.headers["Authorization"]) else {
            var response = HTTPResponse.text(.unauthorized, "This call needs a service account's key.\n")
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        }
        let name = request.target.query.first { $0.name == "name" }?.value ?? ""
        do {
            switch (request.method, path.dropFirst(Self.path.count)) {
            case (.get, ""): return try overview()
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

    private func overview() throws -> HTTPResponse {
        let names = try layout.databases()
        let json: JSON = ["time": .integer(now()), "databases": .array(names.map { .string($0) })]
        return HTTPResponse(headers: ["Content-Type": "application/json"], body: .bytes(json.bytes))
    }

    // MARK: databases

    private func database(_ name: String, _ request: HTTPServerRequest) async throws -> HTTPResponse {
        guard try layout.databases().contains(name) else { return .text(.notFound, "There is no such database.\n") }
        let known = try await request.body.collect(limit: Self.sumsLimit)
        let tag = try tag(of: name)
        if let tag, request.headers["If-None-Match"] == tag { return HTTPResponse(.notModified) }
        guard let turn = isCopying.take() else {
            return HTTPResponse(
                .serviceUnavailable, headers: ["Retry-After": "1"], body: .text("Another copy is in progress.\n"))
        }
        let path = "\(layout.path)/\(name)"
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
