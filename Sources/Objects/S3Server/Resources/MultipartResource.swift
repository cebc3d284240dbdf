import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import SQLite
import SystemIO
import XML

/// The operations on multipart uploads.
struct MultipartResource: Sendable {
    let context: S3Context

    func create(_ call: S3Call) async throws -> HTTPResponse {
        try WriteConditions.refuse(in: call.request.headers, of: "the beginning of a multipart upload")
        var (type, headers) = try ObjectHeaders.keep(call.request.headers)
        var answer: HTTPHeaders = [:]
        if let (algorithm, kind) = try ObjectChecksum.asked(call.request.headers) {
            (headers[ObjectChecksum.algorithmHeader], headers[ObjectChecksum.Kind.header]) = (
                algorithm.rawValue, kind.rawValue
            )
            answer[ObjectChecksum.algorithmHeader] = algorithm.rawValue
            answer[ObjectChecksum.Kind.header] = kind.rawValue
        }
        let id = SystemRandom.hex(16)
        let (bucket, key, created) = (call.bucket, call.key, context.now())
        let credential = call.credential
        _ = try await context.store.index.write { [type, headers] database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            if let prefix = credential.prefix {
                try credential.uploads.checkBeginning(besides: database.unfinished(bucket, prefix: prefix).uploads)
            }
            try database.begin(
                MultipartUpload(
                    id: id, bucket: bucket, key: key, created: created, contentType: type, headers: headers))
            return []
        }
        return .xml(
            XMLElement(
                "InitiateMultipartUploadResult",
                [XMLElement("Bucket", bucket), XMLElement("Key", key), XMLElement("UploadId", id)]), headers: answer)
    }

    func putPart(_ call: S3Call) async throws -> HTTPResponse {
        try WriteConditions.refuse(in: call.request.headers, of: "a part")
        let number = try partNumber(call)
        let upload = try await upload(call)
        // Refuse a part that exceeds the limit before its bytes are sent.
        try context.store.index.readHere { database in
            try database.check(Int64(call.request.body.length ?? 0), number, of: upload, call.credential)
        }
        let algorithm = upload.checksum?.algorithm
        if !call.isSmall { try context.requireRoom(call) }
        let received = try await context.bodies.receive(call, computing: algorithm)
        try await commit(
            UploadedPart(
                number: number, file: received.file, size: received.size, etag: received.etag, modified: context.now(),
                checksum: received.checksum), of: upload, call.credential)
        var headers: HTTPHeaders = ["ETag": "\"\(received.etag)\""]
        for (name, value) in received.checksums { headers[name] = value }
        if let algorithm { headers[algorithm.header] = received.checksum }
        return HTTPResponse(headers: headers)
    }

    func copyPart(_ call: S3Call) async throws -> HTTPResponse {
        try WriteConditions.refuse(in: call.request.headers, of: "a part")
        let number = try partNumber(call)
        let upload = try await upload(call)
        let range = call.request.headers["x-amz-copy-source-range"]
        let algorithm = upload.checksum?.algorithm
        let copy = try await ObjectCopier(context: context).copy(
            call, computing: { _ in algorithm },
            span: { source in
                let span = try ObjectHeaders.copyRange(range, size: source.size)
                try context.store.index.readHere {
                    try $0.check(Int64(span.count), number, of: upload, call.credential)
                }
                return span
            })
        let part = UploadedPart(
            number: number, file: copy.file, size: copy.size, etag: copy.md5, modified: context.now(),
            checksum: copy.checksum?.value)
        try await commit(part, of: upload, call.credential)
        return .xml(
            XMLElement(
                "CopyPartResult",
                [
                    XMLElement("LastModified", microseconds: part.modified),
                    XMLElement("ETag", "\"\(part.etag)\""),
                ] + Self.checksum(of: part, algorithm)))
    }

    private static func checksum(of part: UploadedPart, _ algorithm: ObjectChecksum?) -> [XMLElement] {
        guard let algorithm, let checksum = part.checksum else { return [] }
        return [XMLElement(algorithm.element, checksum)]
    }

    private func commit(_ part: UploadedPart, of upload: MultipartUpload, _ credential: S3Credential) async throws {
        do {
            let unused = try await context.store.index.write { database in
                guard try database.upload(upload.id) != nil else { throw S3Error.noSuchUpload }
                try database.check(part.size, part.number, of: upload, credential)
                let (replaced, growth) = try database.exchange(part, of: upload.id)
                try context.checkQuota(of: upload.key, growth: growth, in: database)
                return replaced
            }
            await context.store.discard(unused)
        } catch {
            await context.store.discard([part.file])
            throw error
        }
    }

    func listParts(_ call: S3Call) async throws -> HTTPResponse {
        let upload = try await upload(call)
        let after = try call.integer("part-number-marker", in: 0...10_000, otherwise: 0)
        let limit = try call.integer("max-parts", in: 1...1000, otherwise: 1000)
        let all = try await context.store.index.read { try $0.parts(upload.id) }.filter { $0.number > after }
        let page = all.prefix(limit)
        var children = [
            XMLElement("Bucket", call.bucket), XMLElement("Key", call.key), XMLElement("UploadId", upload.id),
            XMLElement("PartNumberMarker", String(after)), XMLElement("MaxParts", String(limit)),
            XMLElement("IsTruncated", all.count > limit ? "true" : "false"),
        ]
        if all.count > limit, let last = page.last {
            children.append(XMLElement("NextPartNumberMarker", String(last.number)))
        }
        children += upload.checksumElements
        for part in page {
            children.append(
                XMLElement(
                    "Part",
                    [
                        XMLElement("PartNumber", String(part.number)), XMLElement("ETag", "\"\(part.etag)\""),
                        XMLElement("Size", String(part.size)),
                        XMLElement("LastModified", microseconds: part.modified),
                    ] + Self.checksum(of: part, upload.checksum?.algorithm)))
        }
        return .xml(XMLElement("ListPartsResult", children))
    }

    func listUploads(_ call: S3Call) async throws -> HTTPResponse {
        let prefix = call.parameter("prefix") ?? ""
        guard call.credential.allows(key: prefix) else { throw S3Error.accessDenied }
        try context.requireBucket(call.bucket)
        let bucket = call.bucket
        let limit = try call.integer("max-uploads", in: 1...1000, otherwise: 1000)
        let (keyMarker, idMarker) = (call.parameter("key-marker") ?? "", call.parameter("upload-id-marker") ?? "")
        let delimiter = call.parameter("delimiter").flatMap { $0.isEmpty ? nil : $0 }
        let listing = try await context.store.index.list(for: call.credential.prefix) { database in
            try database.uploads(
                bucket, prefix: prefix, delimiter: delimiter, after: (keyMarker, idMarker), limit: limit)
        }
        var children = [
            XMLElement("Bucket", bucket), XMLElement("Prefix", call.encoded(prefix)),
            XMLElement("KeyMarker", call.encoded(keyMarker)), XMLElement("UploadIdMarker", idMarker),
            XMLElement("MaxUploads", String(limit)),
            XMLElement("IsTruncated", listing.next == nil ? "false" : "true"),
        ]
        if let delimiter { children.append(XMLElement("Delimiter", call.encoded(delimiter))) }
        if call.encodesKeys { children.append(XMLElement("EncodingType", "url")) }
        if let (key, id) = listing.next {
            children.append(XMLElement("NextKeyMarker", call.encoded(key)))
            children.append(XMLElement("NextUploadIdMarker", id))
        }
        for entry in listing.entries {
            switch entry {
            case .prefix(let prefix):
                children.append(XMLElement("CommonPrefixes", [XMLElement("Prefix", call.encoded(prefix))]))
            case .upload(let upload):
                children.append(
                    XMLElement(
                        "Upload",
                        [
                            XMLElement("Key", call.encoded(upload.key)), XMLElement("UploadId", upload.id),
                            XMLElement("Initiated", microseconds: upload.created),
                            XMLElement("StorageClass", "STANDARD"), S3Owner.element(), S3Owner.element("Initiator"),
                        ] + upload.checksumElements))
            }
        }
        return .xml(XMLElement("ListMultipartUploadsResult", children))
    }

    func abort(_ call: S3Call) async throws -> HTTPResponse {
        let upload = try await upload(call)
        try WriteConditions.refuse(in: call.request.headers, of: "the abortion of a multipart upload")
        let initiated = "x-amz-if-match-initiated-time"
        if let time = try WriteConditions.time(call.request.headers[initiated], initiated),
            time != upload.created / 1_000_000
        {
            throw S3Error.preconditionFailed
        }
        let unused = try await context.store.index.write { database in
            try database.removeUpload(upload.id)
        }
        await context.store.discard(unused)
        return HTTPResponse(.noContent)
    }

    /// Completes an upload from the parts that the client lists, in ascending order of their
    /// numbers. All but the last must have at least 5 MiB.
    func complete(_ call: S3Call) async throws -> HTTPResponse {
        let tree = try await context.bodies.document(call, named: "CompleteMultipartUpload", limit: 4 << 20)
        let upload: MultipartUpload
        do { upload = try await self.upload(call) } catch let error as S3Error where error.code == "NoSuchUpload" {
            // A client that did not receive the answer repeats the request.
            let tags = tree.children.filter { $0.name == "Part" }.compactMap { $0["ETag"]?.filter { $0 != "\"" } }
            guard !tags.isEmpty, let record = try? context.record(call.bucket, call.key),
                record.etag == Self.etag(of: tags)
            else { throw error }
            return Self.completed(record, call)
        }
        let conditions = try WriteConditions(call.request.headers)
        let present = try await context.store.index.read { try $0.parts(upload.id) }
        let parts = try Self.select(tree, from: present, upload.checksum?.algorithm)
        var headers = upload.headers.filter { !$0.key.hasPrefix("x-amz-checksum-") }
        headers.merge(try Self.checksums(of: upload, parts, call.request.headers)) { $1 }
        let store = context.store
        // A checksum that was not announced when the upload started is computed while the parts are
        // joined.
        let late = upload.checksum == nil ? ObjectChecksum.declared(call.request.headers) : nil
        let (file, size) = try await context.store.run {
            var incoming = try store.makeIncoming(late?.digest ?? [])
            for part in parts {
                let input = try store.open(part, of: upload.id)
                guard input.size == part.size else {
                    throw S3Error("InternalError", "A part's data is damaged.", 500)
                }
                try input.forEachPart { try incoming.append($0) }
            }
            if let late {
                let value = late.value(in: incoming.digests())
                guard let value, call.request.headers[late.header] == Base64.encode(value) else {
                    throw S3Error.badDigest
                }
            }
            return (try store.keep(&incoming), incoming.size)
        }
        if let late { headers[late.header] = call.request.headers[late.header] }
        let record = ObjectRecord(
            key: upload.key, file: file, size: size, etag: Self.etag(of: parts.map(\.etag)), modified: context.now(),
            contentType: upload.contentType, headers: headers)
        try await context.commit(record, in: call.bucket, conditions, completing: upload.id)
        return Self.completed(record, call)
    }

    /// Returns the checksum fields of the whole object.
    ///
    /// - Throws: `BadDigest` if the client has another checksum.
    private static func checksums(
        of upload: MultipartUpload, _ parts: [UploadedPart], _ headers: HTTPHeaders
    ) throws -> [String: String] {
        if let size = headers["x-amz-mp-object-size"], Int64(size) != parts.reduce(0, { $0 + $1.size }) {
            throw S3Error.invalidRequest("The x-amz-mp-object-size header does not match the size of the object.")
        }
        guard let (algorithm, kind) = upload.checksum, let value = algorithm.joined(parts, kind) else { return [:] }
        if let type = headers[ObjectChecksum.Kind.header], type.uppercased() != kind.rawValue {
            throw S3Error.invalidRequest("The upload was created with the \(kind.rawValue) checksum type.")
        }
        if let expected = headers[algorithm.header], expected != value, "\(expected)-\(parts.count)" != value {
            throw S3Error.badDigest
        }
        return [algorithm.header: value, ObjectChecksum.Kind.header: kind.rawValue]
    }

    private static func completed(_ record: ObjectRecord, _ call: S3Call) -> HTTPResponse {
        .xml(
            XMLElement(
                "CompleteMultipartUploadResult",
                [
                    XMLElement("Location", "/\(call.bucket)/\(call.key)"), XMLElement("Bucket", call.bucket),
                    XMLElement("Key", call.key), XMLElement("ETag", "\"\(record.etag)\""),
                ] + record.checksumElements))
    }

    /// Returns the entity tag of an object that is joined from parts with these tags.
    private static func etag(of parts: [String]) -> String {
        let sums = parts.flatMap { Hex.decode($0.prefix(32)) ?? [] }
        return "\(Hex.encode(MD5.hash(sums)))-\(parts.count)"
    }

    private static func select(
        _ tree: XMLElement, from present: [UploadedPart], _ algorithm: ObjectChecksum?
    ) throws -> [UploadedPart] {
        let byNumber = Dictionary(uniqueKeysWithValues: present.map { ($0.number, $0) })
        var parts: [UploadedPart] = []
        for element in tree.children where element.name == "Part" {
            guard let number = element["PartNumber"].flatMap({ Int($0) }), let etag = element["ETag"] else {
                throw S3Error.malformedXML
            }
            guard let part = byNumber[number], etag.filter({ $0 != "\"" }) == part.etag,
                algorithm.flatMap({ element[$0.element] }).map({ $0 == part.checksum }) ?? true
            else {
                throw S3Error("InvalidPart", "One or more of the specified parts could not be found.", 400)
            }
            guard parts.last.map({ $0.number < number }) ?? true else {
                throw S3Error("InvalidPartOrder", "The list of parts was not in ascending order.", 400)
            }
            parts.append(part)
        }
        guard !parts.isEmpty else { throw S3Error.malformedXML }
        guard parts.dropLast().allSatisfy({ $0.size >= 5 << 20 }) else {
            throw S3Error(
                "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed object size.", 400)
        }
        guard parts.reduce(0, { $0 + $1.size }) <= S3Protocol.objectLimit else { throw S3Error.entityTooLarge }
        return parts
    }

    private func partNumber(_ call: S3Call) throws -> Int {
        guard let number = call.parameter("partNumber").flatMap({ Int($0) }), (1...10_000).contains(number) else {
            throw S3Error.invalidArgument("Part number must be an integer between 1 and 10000, inclusive")
        }
        return number
    }

    /// Returns the upload that the call names, if it belongs to this bucket and key.
    private func upload(_ call: S3Call) async throws -> MultipartUpload {
        let id = call.parameter("uploadId") ?? ""
        guard let upload = try await context.store.index.read({ try $0.upload(id) }), upload.bucket == call.bucket,
            upload.key == call.key
        else { throw S3Error.noSuchUpload }
        return upload
    }
}

extension SQLiteDatabase {
    /// Refuses a part that exceeds the account's limit. The part with the same number, which it
    /// replaces, does not count.
    fileprivate func check(
        _ size: Int64, _ number: Int, of upload: MultipartUpload, _ credential: S3Credential
    ) throws {
        guard let prefix = credential.prefix else { return }
        let replaced = try part(upload.id, number).map { UploadedPart.countedSize($0.size) } ?? 0
        let counted = try unfinished(upload.bucket, prefix: prefix).counted
        try credential.uploads.checkPart(size, besides: counted - replaced)
    }
}
