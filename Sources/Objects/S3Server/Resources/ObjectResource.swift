import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import Synchronization
import SystemIO
import XML

/// The operations on objects: read, write, copy, and remove.
struct ObjectResource: Sendable {
    let context: S3Context
    let archives: ArchiveResource

    /// Handles GetObject and HeadObject.
    func get(_ call: S3Call) async throws -> HTTPResponse {
        // If a put replaces the bytes between the look-up and the open, the object is looked up
        // again.
        for _ in 0..<8 {
            let record = try context.record(call.bucket, call.key, hidingMarked: call.request.method == .head)
            do {
                return try answer(call, record)
            } catch let error as SystemError where error.code == .notFound {
                continue
            }
        }
        throw context.lost(call.bucket, call.key, "nothing is there")
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
        // Clients compare the checksum, which covers the whole object, with the bytes that they
        // receive.
        let showsChecksums = range == nil && request.headers["x-amz-checksum-mode"]?.uppercased() == "ENABLED"
        var headers = ObjectHeaders.answer(record, request.target, showsChecksums: showsChecksums)
        let span = range ?? 0..<record.size
        if range != nil { headers["Content-Range"] = "bytes \(span.lowerBound)-\(span.upperBound - 1)/\(record.size)" }
        let status: HTTPStatus = range == nil ? .ok : .partialContent
        if request.method == .get, range == nil, let (bytes, owner) = try context.store.contents(of: record) {
            try checkSize(Int64(bytes.count), of: record, call)
            return HTTPResponse(status, headers: headers, body: .bytes(bytes, owner: owner))
        }
        let object = try context.store.open(record)
        try checkSize(object.size, of: record, call)
        guard request.method != .head else {
            return HTTPResponse(status, headers: headers, body: .omitted(length: Int(span.count)))
        }
        return HTTPResponse(status, headers: headers, body: try object.body(span))
    }

    private func checkSize(_ size: Int64, of record: ObjectRecord, _ call: S3Call) throws {
        guard size == record.size else {
            throw context.lost(call.bucket, call.key, "\(size) bytes are there instead of \(record.size)")
        }
    }

    func put(_ call: S3Call) async throws -> HTTPResponse {
        if ArchiveResource.isArchive(call) { return try await archives.put(call) }
        // A small body arrives before a refusal could stop it, and the commit makes the same
        // checks.
        if !call.isSmall {
            try context.requireBucket(call.bucket)
            try context.requireRoom(call)
        }
        let (type, headers) = try ObjectHeaders.keep(call.request.headers)
        let conditions = try WriteConditions(call.request.headers)
        let received = try await context.bodies.receive(call)
        let kept = headers.merging(received.checksums) { $1 }
        let record = ObjectRecord(
            key: call.key, file: received.file, size: received.size, etag: received.etag, modified: context.now(),
            contentType: type, headers: kept)
        try await context.commit(record, in: call.bucket, conditions)
        var answer: HTTPHeaders = ["ETag": "\"\(record.etag)\""]
        for (name, value) in kept where name.hasPrefix("x-amz-checksum-") { answer[name] = value }
        if !received.checksums.isEmpty { answer[ObjectChecksum.Kind.header] = ObjectChecksum.Kind.whole.rawValue }
        return HTTPResponse(headers: answer)
    }

    func delete(_ call: S3Call) async throws -> HTTPResponse {
        let conditions = try WriteConditions(call.request.headers)
        if let refusal = try await delete([(call.key, conditions)], in: call.bucket).first?.refusal { throw refusal }
        return HTTPResponse(.noContent)
    }

    /// Removes objects. Removing an object that does not exist succeeds.
    ///
    /// - Returns: The objects that stay because their conditions do not hold.
    private func delete(
        _ objects: [(key: String, conditions: WriteConditions)], in bucket: String
    ) async throws -> [(key: String, refusal: S3Error)] {
        let refused = Refusals()
        let unused = try await context.store.index.write { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            return try objects.compactMap { key, conditions in
                guard let record = try database.object(bucket, key) else { return nil }
                do throws(S3Error) {
                    try conditions.checkDelete(of: record)
                } catch {
                    refused.add(key, error)
                    return nil
                }
                try database.removeObject(bucket, key)
                return record.file
            }
        }
        await context.store.discard(unused)
        return refused.all
    }

    /// A list of refusals, filled on the index's thread.
    private final class Refusals: Sendable {
        private let list = Mutex<[(key: String, refusal: S3Error)]>([])

        var all: [(key: String, refusal: S3Error)] { list.withLock { $0 } }

        func add(_ key: String, _ refusal: S3Error) { list.withLock { $0.append((key, refusal)) } }
    }

    /// Handles DeleteObjects: at most 1000 keys, each with a result.
    func deleteAll(_ call: S3Call) async throws -> HTTPResponse {
        let tree = try await context.bodies.document(call, named: "Delete", limit: 2 << 20)
        let objects = tree.all("Object")
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
        // Keys that differ only in Unicode normalization are different keys.
        let kept = Set(refused.map { Array($0.key.utf8) })
        let isQuiet = tree["Quiet"] == "true"
        // A key may occur twice, with conditions of which only one holds.
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

    func copy(_ call: S3Call) async throws -> HTTPResponse {
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
        let copy = try await ObjectCopier(context: context).copy(
            call, computing: { try ObjectChecksum.computed(copying: $0, call.request.headers) }, span: { 0..<$0.size })
        let source = copy.source
        var kept = (replaces ? headers : source.headers).filter { !$0.key.hasPrefix("x-amz-checksum-") }
        for (algorithm, value) in copy.checksum.map({ [$0] }) ?? source.checksums.values {
            kept[algorithm.header] = value
        }
        let record = ObjectRecord(
            key: call.key, file: copy.file, size: source.size, etag: source.etag, modified: context.now(),
            contentType: replaces ? type : source.contentType, headers: kept)
        try await context.commit(record, in: call.bucket, conditions)
        return .xml(
            XMLElement(
                "CopyObjectResult",
                [
                    XMLElement("LastModified", microseconds: record.modified),
                    XMLElement("ETag", "\"\(record.etag)\""),
                ] + record.checksumElements))
    }

    private static func refuseCopyOntoItself(_ call: S3Call) throws {
        let (bucket, key) = try ObjectCopier.sourceName(call)
        guard !bucket.utf8.elementsEqual(call.bucket.utf8) || !key.utf8.elementsEqual(call.key.utf8) else {
            throw S3Error.invalidRequest(
                "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
            )
        }
    }
}
