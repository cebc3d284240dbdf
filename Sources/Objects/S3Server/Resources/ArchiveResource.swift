import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import ObjectStorage
import SystemIO
import Ustar

/// Many small objects in one request: a put of a tar archive of objects, as MinIO and Amazon's
/// Snowball accept it, and a get of an archive of the objects that the body names, which is Ferry's
/// own extension.
struct ArchiveResource: Sendable {
    let context: S3Context

    /// The maximum size of an archive in bytes.
    private static let archiveLimit = 4 << 20

    static func isArchive(_ call: S3Call) -> Bool {
        call.request.headers[S3ObjectStore.archiveHeader]?.lowercased() == "true"
    }

    /// Stores each file of the archive under its own name: all of them or none. The key of the call
    /// is ignored.
    func put(_ call: S3Call) async throws -> HTTPResponse {
        for condition in ["If-Match", "If-None-Match"] where call.request.headers[condition] != nil {
            throw S3Error.notImplemented("\(condition) for an archive")
        }
        guard let length = call.request.body.length else { throw S3Error.missingLength }
        guard length <= Self.archiveLimit else { throw S3Error.entityTooLarge }
        // A client that would have to wait for slow clients puts the objects one by one instead.
        guard let share = context.bodies.memory.takeNow(length, call.credential.prefix) else {
            throw S3Error.invalidRequest("Too many archives are on their way; put the objects one by one.")
        }
        defer { withExtendedLifetime(share) {} }
        let files = try await files(of: call, length)
        var records: [ObjectRecord] = []
        do {
            records = try await keep(files)
            let stored = records
            let unused = try await context.store.index.write { database in
                guard try database.hasBucket(call.bucket) else { throw S3Error.noSuchBucket }
                return try stored.flatMap { record in
                    let (replaced, growth) = try database.exchange(record, in: call.bucket)
                    try context.checkQuota(of: record.key, growth: growth, in: database)
                    return replaced
                }
            }
            await context.store.discard(unused)
        } catch {
            await context.store.discard(records.map(\.file))
            throw error
        }
        return HTTPResponse(headers: [
            "ETag": "\"\(SystemRandom.hex(16))-1\"", S3ObjectStore.foundHeader: "\(files.count)",
        ])
    }

    /// Returns an archive of the objects that the lines of the body name, in their order.
    ///
    /// Objects that do not exist, are large, are not readable for the caller, or exceed the size of
    /// an archive are left out. A request for such an object alone gives the reason.
    func get(_ call: S3Call) async throws -> HTTPResponse {
        let body = try await context.bodies.collect(call, limit: S3ObjectStore.namesLimit * 1025)
        let lines = body.split(separator: UInt8(ascii: "\n"))
        guard lines.count <= S3ObjectStore.namesLimit else { throw S3Error.entityTooLarge }
        var keys: [String] = []
        for line in lines {
            guard let key = String(validating: line, as: UTF8.self) else {
                throw S3Error.invalidArgument("The body must be the objects' keys in UTF-8, a line each.")
            }
            if Ustar.canName(key), try await context.mayRead(key, in: call.bucket, call.credential) {
                keys.append(key)
            }
        }
        guard let share = context.bodies.memory.takeNow(Self.archiveLimit, call.credential.prefix) else {
            throw S3Error.invalidRequest("Too many archives are on their way; get the objects one by one.")
        }
        let (store, bucket, wanted) = (context.store, call.bucket, keys)
        let (archive, count) = try await context.store.run {
            let records = try store.index.readHere { database in
                guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
                return try wanted.compactMap { try database.object(bucket, $0) }
            }
            return Self.archive(of: records, in: store)
        }
        return HTTPResponse(
            headers: ["Content-Type": "application/x-tar", S3ObjectStore.foundHeader: "\(count)"],
            body: .bytes(archive, owner: share))
    }

    private static func archive(of records: [ObjectRecord], in store: DirectoryBucketStore) -> (
        bytes: [UInt8], count: Int
    ) {
        let small = records.filter { $0.size <= SegmentPlace.sizeLimit }
        var (archive, count): ([UInt8], Int) = ([], 0)
        archive.reserveCapacity(min(archiveLimit, Ustar.size(of: small.lazy.map { Int($0.size) })))
        for record in small {
            let size = Int(record.size)
            guard archive.count + Ustar.size(ofOne: size) <= archiveLimit else { continue }
            let isWhole = try? Ustar.append(size, named: record.key, to: &archive) { room in
                try store.open(record).read(into: room)
            }
            if isWhole == true { count += 1 }
        }
        Ustar.end(&archive)
        return (archive, count)
    }

    private typealias File = (key: String, content: ArraySlice<UInt8>, digest: SHA256Digest)

    private func files(of call: S3Call, _ length: Int) async throws -> [File] {
        let (bytes, trailer) = try await whole(call, length)
        return try await context.store.run { [bytes] in
            try RequestBodies.check(bytes, call, trailer)
            let files: [(name: String, content: ArraySlice<UInt8>)]
            do {
                files = try Ustar.files(in: bytes)
            } catch {
                throw S3Error.invalidArgument("\(error)")
            }
            for (name, content) in files {
                guard !name.isEmpty, call.credential.allows(key: name) else { throw S3Error.accessDenied }
                try S3Call.check(key: name)
                guard content.count <= SegmentPlace.sizeLimit else { throw S3Error.entityTooLarge }
            }
            return zip(files, SHA256.hash(each: files.map(\.content))).map { ($0.name, $0.content, $1) }
        }
    }

    private func whole(_ call: S3Call, _ length: Int) async throws -> (bytes: [UInt8], trailer: [String: String]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        if case .chunked = call.authentication.payload {
            var body = PayloadReader(call)
            while let chunk = try await body.next() {
                guard chunk.count <= length - bytes.count else { throw S3Error.entityTooLarge }
                bytes += chunk
            }
            return (bytes, body.trailer)
        }
        try await call.request.body.appendRest(to: &bytes)
        return (bytes, [:])
    }

    /// Makes the files durable together. If one fails, none is kept.
    private func keep(_ files: [File]) async throws -> [ObjectRecord] {
        let now = context.now()
        return zip(files, try await context.store.keep(files.map { ($0.content, $0.digest) })).map { file, place in
            ObjectRecord(
                key: file.key, file: place, size: Int64(file.content.count), etag: RequestBodies.etag(of: file.digest),
                modified: now, contentType: "application/octet-stream", headers: [:])
        }
    }
}
