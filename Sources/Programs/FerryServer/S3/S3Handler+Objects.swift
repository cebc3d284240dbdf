import Cryptography
import HTTPMessages
import HTTPServer
import SQLite
import Synchronization
import SystemIO

extension S3Handler {
    /// GetObject and HeadObject.
    func getObject(_ call: S3Call) async throws -> HTTPResponse {
        // A put between the look-up and the open replaces the bytes; then the look-up is done again.
        for _ in 0..<8 {
            let record = try record(call.bucket, call.key, hidingCondemned: call.request.method == .head)
            do {
                return try answer(call, record)
            } catch let error as SystemError where error.code == .notFound {
                continue
            }
        }
        throw lost(call.bucket, call.key, "nothing is there")
    }

    /// What a disk has lost does not come back by asking again: the object counts as absent, and who has it may put it anew.
    private func lost(_ bucket: String, _ key: String, _ reason: String) -> S3Error {
        onError(LostObject(bucket: bucket, key: key, reason: reason))
        return S3Error("NoSuchKey", "The object's data is lost on this server. Put the object again.", 404)
    }

    private struct LostObject: Error, CustomStringConvertible {
        let bucket: String
        let key: String
        let reason: String

        var description: String { "the data of \(bucket)/\(key) is lost: \(reason)" }
    }

    private func answer(_ call: S3Call, _ record: ObjectRecord) throws -> HTTPResponse {
        let request = call.request
        switch ObjectHeaders.check(request.headers, against: record) {
        case .notModified?:
            return HTTPResponse(
                .notModified, headers: ObjectHeaders.answer(record, request.target, showsChecksums: false))
        case _?: throw S3Error.preconditionFailed
        case nil: break
        }
        try ObjectHeaders.checkPart(call.parameter("partNumber"), of: record)
        let range = try ObjectHeaders.range(of: record, request.headers)
        // Clients compare the checksum, which is the whole's, with what they get.
        let showsChecksums = range == nil && request.headers["x-amz-checksum-mode"]?.uppercased() == "ENABLED"
        var headers = ObjectHeaders.answer(record, request.target, showsChecksums: showsChecksums)
        let span = range ?? 0..<record.size
        if range != nil { headers["Content-Range"] = "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(record.size)" }
        let status: HTTPStatus = range == nil ? .ok : .partialContent
        if request.method == .get, range == nil, let (bytes, owner) = try store.contents(of: record) {
            try checkSize(Int64(bytes.count), of: record, call)
            return HTTPResponse(status, headers: headers, body: .bytes(bytes, owner: owner))
        }
        let object = try store.open(record)
        try checkSize(object.size, of: record, call)
        guard request.method != .head else {
            return HTTPResponse(status, headers: headers, body: .omitted(length: Int(span.count)))
        }
        return HTTPResponse(status, headers: headers, body: try object.body(span))
    }

    private func checkSize(_ size: Int64, of record: ObjectRecord, _ call: S3Call) throws {
        guard size == record.size else {
            throw lost(call.bucket, call.key, "\(size) bytes are there instead of \(record.size)")
        }
    }

    /// - Parameter hidingCondemned: whoever only asks whether an object is there means to rely on it.
    func record(_ bucket: String, _ key: String, hidingCondemned: Bool = false) throws -> ObjectRecord {
        let found = try store.index.readHere { database in
            var record = try database.object(bucket, key)
            if hidingCondemned, try database.isCondemned(bucket, key) { record = nil }
            return (record, try record != nil || database.hasBucket(bucket))
        }
        guard found.1 else { throw S3Error.noSuchBucket }
        guard let record = found.0 else { throw S3Error.noSuchKey }
        return record
    }

    func putObject(_ call: S3Call) async throws -> HTTPResponse {
        if Self.isArchive(call) { return try await putArchive(call) }
        // A small body is here before anybody could refuse it, and the commit looks as well.
        if !Self.isSmall(call) {
            try requireBucket(call.bucket)
            try requireRoom(call)
        }
        let (type, headers) = try ObjectHeaders.keep(call.request.headers)
        let conditions = try WriteConditions(call.request.headers)
        let received = try await receive(call)
        let kept = headers.merging(received.checksums) { $1 }
        let record = ObjectRecord(
            key: call.key, file: received.file, size: received.size, etag: received.etag, modified: now(),
            contentType: type, headers: kept)
        try await commit(record, in: call.bucket, conditions)
        var answer: HTTPHeaders = ["ETag": "\"\(record.etag)\""]
        for (name, value) in kept where name.hasPrefix("x-amz-checksum-") { answer[name] = value }
        if !received.checksums.isEmpty { answer[ObjectChecksum.Kind.header] = ObjectChecksum.Kind.whole.rawValue }
        return HTTPResponse(headers: answer)
    }

    /// Makes durable bytes the object `record.key`, if the conditions and the quota hold; else gives them back.
    ///
    /// - Parameter upload: the id of a multipart upload that ends with it.
    func commit(
        _ record: ObjectRecord, in bucket: String, _ conditions: WriteConditions, completing upload: String? = nil
    ) async throws {
        do {
            let unused = try await store.index.write { database in
                guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
                if conditions != .none {
                    let present = try database.object(bucket, record.key)
                    // An object whose bytes are lost counts as absent, so that a client can put it again.
                    try conditions.checkPut(over: present.flatMap { store.holds($0) ? $0 : nil })
                }
                var unused: [String] = []
                if let upload {
                    try database.query("SELECT file FROM part WHERE upload = ?", [.text(upload)]) {
                        unused.append($0.text(0))
                    }
                    try database.execute("DELETE FROM upload WHERE id = ?", [.text(upload)])
                }
                let (replaced, growth) = try database.exchange(record, in: bucket)
                // The parts of an upload were counted when they came.
                if upload == nil { try checkQuota(of: record.key, growth: growth, in: database) }
                return unused + replaced
            }
            await store.discard(unused)
        } catch {
            await store.discard([record.file])
            throw error
        }
    }

    func deleteObject(_ call: S3Call) async throws -> HTTPResponse {
        let conditions = try WriteConditions(call.request.headers)
        if let refusal = try await delete([(call.key, conditions)], in: call.bucket).first?.refusal { throw refusal }
        return HTTPResponse(.noContent)
    }

    /// Removes objects; those that are not there count as removed.
    ///
    /// - Returns: those whose conditions do not hold, which stay.
    private func delete(
        _ objects: [(key: String, conditions: WriteConditions)], in bucket: String
    ) async throws -> [(key: String, refusal: S3Error)] {
        let refused = Refusals()
        let unused = try await store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            return try objects.compactMap { key, conditions in
                guard let record = try database.object(bucket, key) else { return nil }
                do throws(S3Error) {
                    try conditions.checkDelete(of: record)
                } catch {
                    refused.add(key, error)
                    return nil
                }
                try database.execute("DELETE FROM object WHERE bucket = ? AND key = ?", [.text(bucket), .text(key)])
                try database.acquit(bucket, key)
                return record.file
            }
        }
        await store.discard(unused)
        return refused.all
    }

    /// What a change refuses on the thread of the index.
    private final class Refusals: Sendable {
        private let list = Mutex<[(key: String, refusal: S3Error)]>([])

        var all: [(key: String, refusal: S3Error)] { list.withLock { $0 } }

        func add(_ key: String, _ refusal: S3Error) { list.withLock { $0.append((key, refusal)) } }
    }

    /// DeleteObjects: up to 1000 keys, each with an answer of its own.
    func deleteObjects(_ call: S3Call) async throws -> HTTPResponse {
        guard let tree = XMLTree(parsing: try await collect(call, limit: 2 << 20)), tree.name == "Delete" else {
            throw S3Error.malformedXML
        }
        let objects = tree.children.filter { $0.name == "Object" }
        guard !objects.isEmpty, objects.count <= 1000 else { throw S3Error.malformedXML }
        var allowed: [(key: String, conditions: WriteConditions)] = []
        var refused: [(key: String, refusal: S3Error)] = []
        for object in objects {
            guard let key = object["Key"], !key.isEmpty else { throw S3Error.malformedXML }
            do throws(S3Error) {
                guard call.credential.allows(key: key) else { throw S3Error.accessDenied }
                try S3Call.check(version: object["VersionId"])
                allowed.append((key, try WriteConditions(deleting: object)))
            } catch {
                refused.append((key, error))
            }
        }
        refused += try await delete(allowed, in: call.bucket)
        // Keys that differ only in their Unicode form are two.
        let kept = Set(refused.map { Array($0.key.utf8) })
        let isQuiet = tree["Quiet"] == "true"
        // A key may be named twice, with conditions of which one holds.
        var children =
            isQuiet
            ? []
            : allowed.filter { !kept.contains(Array($0.key.utf8)) }.map {
                XMLElement("Deleted", [XMLElement("Key", $0.key)])
            }
        children += refused.map { key, error in
            XMLElement(
                "Error",
                [XMLElement("Key", key), XMLElement("Code", error.code), XMLElement("Message", error.message)])
        }
        return .xml(XMLElement("DeleteResult", children))
    }

    func copyObject(_ call: S3Call) async throws -> HTTPResponse {
        let directive = call.request.headers["x-amz-metadata-directive"]?.uppercased() ?? "COPY"
        guard ["COPY", "REPLACE"].contains(directive) else {
            throw S3Error.invalidArgument("The metadata directive must be COPY or REPLACE.")
        }
        let replaces = directive == "REPLACE"
        if !replaces, call.request.headers[ObjectChecksum.algorithmHeader] == nil {
            try Self.refuseCopyOntoItself(call)
        }
        let (type, headers) = try ObjectHeaders.keep(call.request.headers)
        let conditions = try WriteConditions(call.request.headers)
        let copy = try await copy(
            call, computing: { try ObjectChecksum.computed(copying: $0, call.request.headers) }, span: { 0..<$0.size })
        let source = copy.source
        var kept = (replaces ? headers : source.headers).filter { !$0.key.hasPrefix("x-amz-checksum-") }
        for (algorithm, value) in copy.checksum.map({ [$0] }) ?? source.checksums.values {
            kept[algorithm.header] = value
        }
        let record = ObjectRecord(
            key: call.key, file: copy.file, size: source.size, etag: source.etag, modified: now(),
            contentType: replaces ? type : source.contentType, headers: kept)
        try await commit(record, in: call.bucket, conditions)
        return .xml(
            XMLElement(
                "CopyObjectResult",
                [
                    XMLElement("LastModified", S3Date.xml(microseconds: record.modified)),
                    XMLElement("ETag", "\"\(record.etag)\""),
                ] + record.checksumElements))
    }

    private static func refuseCopyOntoItself(_ call: S3Call) throws {
        let (bucket, key) = try sourceName(call)
        guard !bucket.utf8.elementsEqual(call.bucket.utf8) || !key.utf8.elementsEqual(call.key.utf8) else {
            throw S3Error.invalidRequest(
                "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
            )
        }
    }

    /// What `x-amz-copy-source` names.
    private static func sourceName(_ call: S3Call) throws -> (bucket: String, key: String) {
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

    /// The object that `x-amz-copy-source` names, if the caller may read it and its conditions hold.
    private func copySource(_ call: S3Call) async throws -> (bucket: String, record: ObjectRecord) {
        let (bucket, key) = try Self.sourceName(call)
        guard call.credential.allows(key: key) else { throw S3Error.accessDenied }
        let source = try record(bucket, key)
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
        /// What was to be computed, in base64.
        let checksum: (algorithm: ObjectChecksum, value: String)?
    }

    /// Copies a span of the bytes of the object that `x-amz-copy-source` names.
    func copy(
        _ call: S3Call, computing algorithm: (ObjectRecord) throws -> ObjectChecksum?,
        span: (ObjectRecord) throws -> Range<Int64>
    ) async throws -> Copy {
        var attempts = 0
        while true {
            let (bucket, source) = try await copySource(call)
            if let copy = try await copy(source, in: bucket, algorithm(source), span: span(source)) { return copy }
            // As in `getObject`, a put may have replaced the bytes.
            attempts += 1
            guard attempts < 8 else { throw lost(bucket, source.key, "nothing is there") }
        }
    }

    /// Nil where nothing of the source's is there.
    private func copy(
        _ source: ObjectRecord, in bucket: String, _ algorithm: ObjectChecksum?, span: Range<Int64>
    ) async throws -> Copy? {
        let store = store
        let wanted = ObjectDigests.Wanted.md5.union(algorithm?.digest ?? [])
        let copied = try await store.run { () -> (CopiedBytes, ObjectDigests)? in
            let input: StoredObject
            do { input = try store.open(source) } catch let error as SystemError where error.code == .notFound {
                return nil
            }
            guard input.size >= span.upperBound else {
                throw lost(bucket, source.key, "\(input.size) bytes are there instead of \(source.size)")
            }
            if span.count <= BucketStore.smallSize {
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
                guard !bytes.isEmpty else { throw lost(bucket, source.key, "it ends at byte \(position)") }
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

/// Bytes that were read.
private enum CopiedBytes: Sendable {
    case small([UInt8], SHA256Digest)
    /// Durable already.
    case file(String)

    /// What the index is to call them, once they are durable.
    func kept(in store: BucketStore) async throws -> String {
        switch self {
        case .small(let bytes, let digest): try await store.keep(bytes[...], digest)
        case .file(let name): name
        }
    }
}
