import Cryptography
import HTTP
import SQLite
import SystemIO

/// An object's bytes that have arrived, were checked, and are durable in a file.
struct ReceivedObject: Sendable {
    let file: String
    let size: Int64
    /// The MD5 in hex; where the client sent a SHA-256 checksum instead, half of that and `-1`, the form of an entity tag that
    /// is no MD5.
    let etag: String
    /// Checksum fields to keep.
    let checksums: [String: String]
}

extension S3Handler {
    /// A small body, decoded and checked.
    func collect(_ call: S3Call, limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var body = PayloadReader(call)
        while let chunk = try await body.next() {
            guard chunk.count <= limit - bytes.count else { throw S3Error.entityTooLarge }
            bytes += chunk
        }
        if case .sha256(let expected) = call.authentication.payload, SHA256.hash(bytes).hex != expected {
            throw S3Error("XAmzContentSHA256Mismatch", "The provided x-amz-content-sha256 does not match.", 400)
        }
        if let expected = call.request.headers["Content-MD5"], Base64.encode(MD5.hash(bytes)) != expected {
            throw S3Error.badDigest
        }
        return bytes
    }

    /// Streams a body of any size into a durable file, in memory of constant size.
    func receive(_ call: S3Call) async throws -> ReceivedObject {
        let headers = call.request.headers
        let declared = Self.declaredChecksum(headers)
        let wanted = Self.digests(for: declared, headers)

        let thread = store.thread()
        let store = store
        let incoming = IncomingBox()
        var body = PayloadReader(call)
        var (arrived, size): ([UInt8], Int64) = ([], 0)
        // A small body is written in one go at its end; of another, what has come while the next part arrives.
        let step = Self.isSmall(call) ? Self.smallBody : 1
        var pending: Task<Void, any Error>?
        defer { pending?.cancel() }
        while let chunk = try await body.next() {
            size += Int64(chunk.count)
            guard size <= Self.objectLimit else { throw S3Error.entityTooLarge }
            if arrived.isEmpty { arrived = chunk } else { arrived += chunk }
            guard arrived.count >= step else { continue }
            try await pending?.value
            pending = Task { [arrived] in try await thread.run { try incoming.append(arrived, store, wanted) } }
            arrived = []
        }
        try await pending?.value
        if let length = headers["x-amz-decoded-content-length"].flatMap({ Int64($0) }), length != size {
            throw S3Error.incompleteBody
        }
        let trailer = body.trailer
        return try await thread.run { [arrived, size] in
            try incoming.append(arrived, store, wanted)
            let digests = try incoming.digests()
            let checksums = try Self.verify(digests, call, trailer)
            let file = try incoming.keep(in: store)
            let etag = digests.md5.map(Hex.encode) ?? "\(digests.sha256.hex.prefix(32))-1"
            return ReceivedObject(file: file, size: size, etag: etag, checksums: checksums)
        }
    }

    /// Bodies up to this length wait in memory until they are whole.
    private static let smallBody = 256 << 10

    /// Whether the body announces a length up to that.
    static func isSmall(_ call: S3Call) -> Bool { call.request.headers.contentLength.map { $0 <= smallBody } ?? false }

    private static func digests(for declared: String?, _ headers: HTTPHeaders) -> IncomingObject.Wanted {
        var wanted: IncomingObject.Wanted = []
        if declared != "x-amz-checksum-sha256" || headers["Content-MD5"] != nil { wanted.insert(.md5) }
        if declared == "x-amz-checksum-crc32" { wanted.insert(.crc32) }
        if declared == "x-amz-checksum-crc32c" { wanted.insert(.crc32c) }
        return wanted
    }

    /// The name of the checksum that comes with the body, in a header or announced for its trailer.
    private static func declaredChecksum(_ headers: HTTPHeaders) -> String? {
        let known = ["x-amz-checksum-sha256", "x-amz-checksum-crc32c", "x-amz-checksum-crc32"]
        let announced = headers["x-amz-trailer"]?.lowercased()
        return known.first { headers[$0] != nil || announced?.contains($0) == true }
    }

    /// Compares every digest that the client gave; answers the checksum to keep.
    private static func verify(_ digests: IncomingObject.Digests, _ call: S3Call, _ trailer: [String: String]) throws
        -> [String: String]
    {
        if case .sha256(let expected) = call.authentication.payload, digests.sha256.hex != expected {
            throw S3Error("XAmzContentSHA256Mismatch", "The provided x-amz-content-sha256 does not match.", 400)
        }
        let headers = call.request.headers
        if let expected = headers["Content-MD5"] {
            guard let sum = Base64.decode(expected), sum.count == 16 else {
                throw S3Error("InvalidDigest", "The Content-MD5 you specified is not valid.", 400)
            }
            guard sum == digests.md5 else { throw S3Error.badDigest }
        }
        var kept: [String: String] = [:]
        let computed = [
            ("x-amz-checksum-sha256", digests.sha256.bytes), ("x-amz-checksum-crc32", digests.crc32 ?? []),
            ("x-amz-checksum-crc32c", digests.crc32c ?? []),
        ]
        for (name, bytes) in computed {
            guard let expected = headers[name] ?? trailer[name] else { continue }
            guard Base64.decode(expected) == bytes else { throw S3Error.badDigest }
            kept[name] = expected
        }
        return kept
    }
}

/// The decoded body of a call.
struct PayloadReader {
    private enum Source {
        case plain(HTTPBody.Iterator)
        case chunked(ChunkedBody)
    }

    private var source: Source

    init(_ call: S3Call) {
        if case .chunked(let signer, let hasTrailer) = call.authentication.payload {
            source = .chunked(ChunkedBody(call.request.body, signer: signer, hasTrailer: hasTrailer))
        } else {
            source = .plain(call.request.body.makeAsyncIterator())
        }
    }

    mutating func next() async throws -> [UInt8]? {
        switch source {
        case .plain(var body):
            defer { source = .plain(body) }
            return try await body.next()
        case .chunked(var body):
            defer { source = .chunked(body) }
            return try await body.next()
        }
    }

    /// The trailing headers; complete at the end.
    var trailer: [String: String] {
        if case .chunked(let body) = source { body.trailer } else { [:] }
    }
}

/// Owns an `IncomingObject` between the steps of one request.
///
/// `@unchecked Sendable`: its steps run one after the other, each awaited before the next begins.
private final class IncomingBox: @unchecked Sendable {
    private var object: IncomingObject?

    /// Makes the object where this is its first part.
    func append(_ bytes: [UInt8], _ store: BucketStore, _ wanted: IncomingObject.Wanted) throws {
        if object == nil { object = try store.makeIncoming(wanted) }
        try object?.append(bytes)
    }

    func digests() throws -> IncomingObject.Digests {
        guard let digests = object?.digests() else { throw S3Error.incompleteBody }
        return digests
    }

    func keep(in store: BucketStore) throws -> String {
        guard var object = object.take() else { throw S3Error.incompleteBody }
        return try store.keep(&object)
    }
}
