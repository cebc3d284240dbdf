import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import SystemIO
import XML

/// The bytes of an object that arrived, were checked, and are durable.
struct ReceivedObject: Sendable {
    /// The name of the bytes' place; see `ObjectPlace`.
    let file: String
    let size: Int64
    /// The entity tag: the MD5 in hex. If the client sent another checksum instead, the tag ends
    /// with `-1`, like other tags that are not an MD5, and starts with half of the SHA-256 or, if
    /// that is not known either, with a random value.
    let etag: String
    /// The checksum fields to keep with the object.
    let checksums: [String: String]
    /// The requested checksum, in base64.
    let checksum: String?
}

/// Reads the bodies of requests.
struct RequestBodies: Sendable {
    let store: DirectoryBucketStore
    /// The memory for archives that are read or written, and for documents.
    let memory = BodyMemory(128 << 20, accountLimit: 16 << 20)

    /// Returns a small body, decoded and verified.
    func collect(_ call: S3Call, limit: Int) async throws -> [UInt8] {
        let length = call.request.body.length ?? limit
        guard length <= limit || call.isChunked else { throw S3Error.entityTooLarge }
        guard let share = memory.takeNow(min(length, limit), call.credential.prefix) else {
            throw S3Error(
                "SlowDown", "Please reduce your request rate: the account has too many documents on their way.", 503)
        }
        defer { withExtendedLifetime(share) {} }
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

    /// Makes a body of any size durable, using a constant amount of memory.
    ///
    /// - Parameter algorithm: A checksum to compute, whether or not one comes with the body.
    func receive(_ call: S3Call, computing algorithm: ObjectChecksum? = nil) async throws -> ReceivedObject {
        if call.isSmall { return try await receiveSmall(call, computing: algorithm) }
        let wanted = Self.digests(for: call, algorithm)
        let store = store
        let incoming = IncomingBox()
        var body = PayloadReader(call)
        var (part, length, size): ([[UInt8]], Int, Int64) = ([], 0, 0)
        // One part is written while the next one arrives.
        var pending: Task<Void, any Error>?
        defer { pending?.cancel() }
        while let chunk = try await body.next() {
            size += Int64(chunk.count)
            guard size <= S3Protocol.objectLimit else { throw S3Error.entityTooLarge }
            part.append(chunk)
            length += chunk.count
            guard length >= S3Call.smallBody else { continue }
            try await pending?.value
            pending = store.start { [part] in try incoming.append(part, store, wanted) }
            (part, length) = ([], 0)
        }
        try await pending?.value
        try Self.check(size, against: call)
        let trailer = body.trailer
        return try await store.run { [part, size] in
            try incoming.append(part, store, wanted)
            let digests = try incoming.digests()
            let checksums = try Self.verify(digests, call, trailer)
            return ReceivedObject(
                file: try incoming.keep(in: store), size: size, etag: Self.etag(digests), checksums: checksums,
                checksum: algorithm?.value(in: digests).map { Base64.encode($0) })
        }
    }

    private func receiveSmall(
        _ call: S3Call, computing algorithm: ObjectChecksum?
    ) async throws -> ReceivedObject {
        var body = PayloadReader(call)
        var bytes: [UInt8] = []
        while let chunk = try await body.next() {
            if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
        }
        try Self.check(Int64(bytes.count), against: call)
        // The store keeps a SHA-256 with each small object.
        let digests = await store.digests(of: bytes, Self.digests(for: call, algorithm).union(.sha256))
        let checksums = try Self.verify(digests, call, body.trailer)
        let file = try await store.keep(bytes[...], digests.sha256 ?? SHA256.hash(bytes))
        return ReceivedObject(
            file: file, size: Int64(bytes.count), etag: Self.etag(digests), checksums: checksums,
            checksum: algorithm?.value(in: digests).map { Base64.encode($0) })
    }

    /// Returns the XML document in the body of a call.
    func document(_ call: S3Call, named name: String, limit: Int) async throws -> XMLElement {
        try Self.document(try await collect(call, limit: limit), named: name)
    }

    /// Reads an XML document.
    ///
    /// - Throws: `MalformedXML`, also for a document whose root has another name.
    static func document(_ bytes: [UInt8], named name: String) throws(S3Error) -> XMLElement {
        guard let document = try? XMLElement(parsing: bytes), document.name == name else { throw .malformedXML }
        return document
    }

    /// Checks that a body has the length and the checksums that the client announced.
    static func check(_ bytes: [UInt8], _ call: S3Call, _ trailer: [String: String]) throws {
        try check(Int64(bytes.count), against: call)
        var hasher = ObjectHasher(digests(for: call, nil))
        hasher.update(bytes)
        _ = try verify(hasher.finish(), call, trailer)
    }

    private static func check(_ size: Int64, against call: S3Call) throws {
        let declared = call.request.headers["x-amz-decoded-content-length"].flatMap { Int64($0) }
        if let declared, declared != size { throw S3Error.incompleteBody }
    }

    private static func etag(_ digests: ObjectDigests) -> String {
        digests.md5.map(Hex.encode) ?? digests.sha256.map(etag) ?? "\(SystemRandom.hex(16))-1"
    }

    static func etag(of digest: SHA256Digest) -> String { "\(digest.hex.prefix(32))-1" }

    private static func digests(for call: S3Call, _ algorithm: ObjectChecksum?) -> ObjectDigests.Wanted {
        let headers = call.request.headers
        let declared = ObjectChecksum.declared(headers)
        var wanted: ObjectDigests.Wanted = []
        for checksum in [declared, algorithm].compactMap(\.self) { wanted.formUnion(checksum.digest) }
        // MD5 and SHA-256 each cost more than everything else that this server does with a body.
        var needsMD5 = declared != .sha256
        switch call.authentication.payload {
        case .sha256: wanted.insert(.sha256)
        case .unsigned: if headers[ObjectChecksum.crc32c.header] != nil, !call.has("uploadId") { needsMD5 = false }
        case .chunked: break
        }
        if needsMD5 || headers["Content-MD5"] != nil { wanted.insert(.md5) }
        return wanted
    }

    /// Compares every digest that the client sent, and returns the checksums to keep.
    private static func verify(_ digests: ObjectDigests, _ call: S3Call, _ trailer: [String: String]) throws
        -> [String: String]
    {
        if case .sha256(let expected) = call.authentication.payload, digests.sha256?.hex != expected {
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
        for checksum in ObjectChecksum.allCases {
            guard let expected = headers[checksum.header] ?? trailer[checksum.header] else { continue }
            guard let value = checksum.value(in: digests), Base64.decode(expected) == value else {
                throw S3Error.badDigest
            }
            kept[checksum.header] = expected
        }
        // An announced checksum that is not sent would never be verified.
        guard ObjectChecksum.declared(headers).map({ kept[$0.header] != nil }) ?? true else {
            throw S3Error("MalformedTrailerError", "The announced checksum is not in the trailer.", 400)
        }
        return kept
    }
}

extension S3Call {
    /// The length in bytes of the parts in which larger bodies are written.
    fileprivate static let smallBody = Int(SegmentPlace.sizeLimit)

    /// Whether the body's announced length makes it small.
    var isSmall: Bool { request.body.length.map { $0 <= Self.smallBody } ?? false }

    /// Whether the body is encoded in chunks and thus longer than its content.
    fileprivate var isChunked: Bool {
        if case .chunked = authentication.payload { true } else { false }
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

/// A reference to an `IncomingObject` between the steps of one request.
///
/// `@unchecked Sendable`: the steps run one after the other, and each is awaited before the next
/// one starts.
private final class IncomingBox: @unchecked Sendable {
    private var object: IncomingObject?

    /// Appends a part; the first one creates the object.
    func append(_ part: [[UInt8]], _ store: DirectoryBucketStore, _ wanted: ObjectDigests.Wanted) throws {
        if object == nil { object = try store.makeIncoming(wanted) }
        for bytes in part { try object?.append(bytes) }
    }

    func digests() throws -> ObjectDigests {
        guard let digests = object?.digests() else { throw S3Error.incompleteBody }
        return digests
    }

    func keep(in store: DirectoryBucketStore) throws -> String {
        guard var object = object.take() else { throw S3Error.incompleteBody }
        return try store.keep(&object)
    }
}
