import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import SystemIO

/// Copies the bytes of the objects that `x-amz-copy-source` names.
struct ObjectCopier: Sendable {
    let context: S3Context

    /// Returns the bucket and the key that `x-amz-copy-source` names.
    static func sourceName(_ call: S3Call) throws -> (bucket: String, key: String) {
        let header = call.request.headers["x-amz-copy-source"] ?? ""
        let (name, query) =
            header.firstIndex(of: "?").map {
                (header[..<$0], header[header.index(after: $0)...])
            } ?? (header[...], "")
        let items = HTTPTarget.items(of: String(query)) ?? []
        try S3Call.check(version: items.first { $0.name == "versionId" }?.value)
        guard let path = PercentEncoding.decode(name.hasPrefix("/") ? name.dropFirst() : name),
            let slash = path.firstIndex(of: "/")
        else {
            throw S3Error.invalidArgument("Copy Source must mention the source bucket and key: sourcebucket/sourcekey")
        }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    /// Returns the object that `x-amz-copy-source` names, if the caller may read it and its
    /// conditions hold.
    private func copySource(_ call: S3Call) async throws -> (bucket: String, record: ObjectRecord) {
        let (bucket, key) = try Self.sourceName(call)
        guard call.credential.allows(key: key) else { throw S3Error.accessDenied }
        let source = try context.record(bucket, key)
        guard ObjectHeaders.check(call.request.headers, prefix: "x-amz-copy-source-", against: source) == nil else {
            throw S3Error.preconditionFailed
        }
        return (bucket, source)
    }

    /// A durable copy of an object's bytes.
    struct Copy: Sendable {
        let source: ObjectRecord
        let file: String
        let size: Int64
        let md5: String
        /// The checksum that was requested, in base64.
        let checksum: (algorithm: ObjectChecksum, value: String)?
    }

    /// Copies a range of the bytes of the object that `x-amz-copy-source` names.
    func copy(
        _ call: S3Call, computing algorithm: (ObjectRecord) throws -> ObjectChecksum?,
        span: (ObjectRecord) throws -> Range<Int64>
    ) async throws -> Copy {
        var attempts = 0
        while true {
            let (bucket, source) = try await copySource(call)
            if let copy = try await copy(source, in: bucket, algorithm(source), span: span(source)) { return copy }
            // As in `ObjectResource.get`, a put may have replaced the bytes meanwhile.
            attempts += 1
            guard attempts < 8 else { throw context.lost(bucket, source.key, "nothing is there") }
        }
    }

    /// Copies the bytes. Returns nil if the bytes of the source are missing.
    func copy(
        _ source: ObjectRecord, in bucket: String, _ algorithm: ObjectChecksum?, span: Range<Int64>
    ) async throws -> Copy? {
        let store = context.store
        let wanted = ObjectDigests.Wanted.md5.union(algorithm?.digest ?? [])
        let copied = try await context.store.run { () -> (CopiedBytes, ObjectDigests)? in
            let input: StoredObject
            do { input = try store.open(source) } catch let error as SystemError where error.code == .notFound {
                return nil
            }
            guard input.size >= span.upperBound else {
                throw context.lost(bucket, source.key, "\(input.size) bytes are there instead of \(source.size)")
            }
            if span.count <= SegmentPlace.sizeLimit {
                let bytes = try input.read(Int(span.count), at: span.lowerBound)
                var hasher = ObjectHasher(wanted)
                hasher.update(bytes)
                let digests = hasher.finish()
                return (.small(bytes, digests.sha256 ?? SHA256.hash(bytes)), digests)
            }
            var incoming = try store.makeIncoming(wanted)
            var position = span.lowerBound
            while position < span.upperBound {
                let bytes = try input.read(Int(min(1 << 20, span.upperBound - position)), at: position)
                guard !bytes.isEmpty else { throw context.lost(bucket, source.key, "it ends at byte \(position)") }
                try incoming.append(bytes)
                position += Int64(bytes.count)
            }
            let digests = incoming.digests()
            return (.file(try store.keep(&incoming)), digests)
        }
        guard let (bytes, digests) = copied else { return nil }
        return Copy(
            source: source, file: try await bytes.kept(in: store), size: Int64(span.count),
            md5: Hex.encode(digests.md5 ?? []),
            checksum: algorithm.flatMap { algorithm in
                algorithm.value(in: digests).map { (algorithm, Base64.encode($0)) }
            })
    }
}

/// The result of copying bytes.
private enum CopiedBytes: Sendable {
    case small([UInt8], SHA256Digest)
    /// A file that is already durable.
    case file(String)

    /// Makes the bytes durable, and returns the name for their record.
    func kept(in store: DirectoryBucketStore) async throws -> String {
        switch self {
        case .small(let bytes, let digest): try await store.keep(bytes[...], digest)
        case .file(let name): name
        }
    }
}
