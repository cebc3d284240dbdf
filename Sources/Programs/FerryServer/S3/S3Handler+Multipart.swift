import Cryptography
import HTTP
import SQLite
import SystemIO

extension S3Handler {
    func createUpload(_ call: S3Call) async throws -> HTTPResponse {
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
        let (bucket, key, created) = (call.bucket, call.key, now())
        _ = try await store.index.write { [type, headers] database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            try database.execute(
                "INSERT INTO upload VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .text(id), .text(bucket), .text(key), .integer(created), .text(type), .text(headers.jsonText),
                ])
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
        let algorithm = upload.checksum?.algorithm
        let received = try await receive(call, computing: algorithm)
        try await commit(
            UploadedPart(
                number: number, file: received.file, size: received.size, etag: received.etag, modified: now(),
                checksum: received.checksum), of: upload)
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
        let copy = try await copy(
            call, computing: { _ in algorithm }, span: { try ObjectHeaders.copyRange(range, size: $0.size) })
        let part = UploadedPart(
            number: number, file: copy.file, size: copy.size, etag: copy.md5, modified: now(),
            checksum: copy.checksum?.value)
        try await commit(part, of: upload)
        return .xml(
            XMLElement(
                "CopyPartResult",
                [
                    XMLElement("LastModified", S3Date.xml(microseconds: part.modified)),
                    XMLElement("ETag", "\"\(part.etag)\""),
                ] + Self.checksum(of: part, algorithm)))
    }

    private static func checksum(of part: UploadedPart, _ algorithm: ObjectChecksum?) -> [XMLElement] {
        guard let algorithm, let checksum = part.checksum else { return [] }
        return [XMLElement(algorithm.element, checksum)]
    }

    private func commit(_ part: UploadedPart, of upload: MultipartUpload) async throws {
        do {
            let unused = try await store.index.write { database in
                guard try database.upload(upload.id) != nil else { throw S3Error.noSuchUpload }
                let replaced = try database.parts(upload.id).filter { $0.number == part.number }.map(\.file)
                try database.execute(
                    "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        .text(upload.id), .int(part.number), .text(part.file), .integer(part.size), .text(part.etag),
                        .integer(part.modified), .optional(part.checksum),
                    ])
                return replaced
            }
            await store.discard(unused)
        } catch {
            await store.discard([part.file])
            throw error
        }
    }

    func listParts(_ call: S3Call) async throws -> HTTPResponse {
        let upload = try await upload(call)
        let after = try call.integer("part-number-marker", in: 0...10_000, otherwise: 0)
        let limit = try call.integer("max-parts", in: 1...1000, otherwise: 1000)
        let all = try await store.index.read { try $0.parts(upload.id) }.filter { $0.number > after }
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
                        XMLElement("LastModified", S3Date.xml(microseconds: part.modified)),
                    ] + Self.checksum(of: part, upload.checksum?.algorithm)))
        }
        return .xml(XMLElement("ListPartsResult", children))
    }

    func listUploads(_ call: S3Call) async throws -> HTTPResponse {
        let prefix = call.parameter("prefix") ?? ""
        guard call.credential.allows(key: prefix) else { throw S3Error.accessDenied }
        try requireBucket(call.bucket)
        let bucket = call.bucket
        let limit = try call.integer("max-uploads", in: 1...1000, otherwise: 1000)
        let (keyMarker, idMarker) = (call.parameter("key-marker") ?? "", call.parameter("upload-id-marker") ?? "")
        let uploads = try await store.index.read { try $0.uploads(bucket) }.filter { upload in
            guard upload.key.utf8.starts(with: prefix.utf8) else { return false }
            if upload.key.utf8.elementsEqual(keyMarker.utf8) { return !idMarker.isEmpty && upload.id > idMarker }
            return keyMarker.utf8.lexicographicallyPrecedes(upload.key.utf8)
        }
        let page = uploads.prefix(limit)
        var next: [XMLElement] = []
        if uploads.count > limit, let last = page.last {
            next = [XMLElement("NextKeyMarker", last.key), XMLElement("NextUploadIdMarker", last.id)]
        }
        let children = page.map { upload in
            XMLElement(
                "Upload",
                [
                    XMLElement("Key", upload.key), XMLElement("UploadId", upload.id),
                    XMLElement("Initiated", S3Date.xml(microseconds: upload.created)),
                ] + upload.checksumElements)
        }
        return .xml(
            XMLElement(
                "ListMultipartUploadsResult",
                [
                    XMLElement("Bucket", bucket), XMLElement("Prefix", prefix), XMLElement("KeyMarker", keyMarker),
                    XMLElement("UploadIdMarker", idMarker), XMLElement("MaxUploads", String(limit)),
                    XMLElement("IsTruncated", next.isEmpty ? "false" : "true"),
                ] + next + children))
    }

    func abortUpload(_ call: S3Call) async throws -> HTTPResponse {
        let upload = try await upload(call)
        try WriteConditions.refuse(in: call.request.headers, of: "the abortion of a multipart upload")
        let initiated = "x-amz-if-match-initiated-time"
        if let time = try WriteConditions.time(call.request.headers[initiated], initiated),
            time != upload.created / 1_000_000
        {
            throw S3Error.preconditionFailed
        }
        let unused = try await store.index.write { database in
            let files = try database.parts(upload.id).map(\.file)
            try database.execute("DELETE FROM upload WHERE id = ?", [.text(upload.id)])
            return files
        }
        await store.discard(unused)
        return HTTPResponse(.noContent)
    }

    /// Joins the parts that the client lists, in ascending order of their numbers. All but the last have 5 MiB at least.
    func completeUpload(_ call: S3Call) async throws -> HTTPResponse {
        guard let tree = XMLTree(parsing: try await collect(call, limit: 4 << 20)),
            tree.name == "CompleteMultipartUpload"
        else { throw S3Error.malformedXML }
        let upload: MultipartUpload
        do { upload = try await self.upload(call) } catch let error as S3Error where error.code == "NoSuchUpload" {
            // Who has lost the answer asks again.
            let tags = tree.children.filter { $0.name == "Part" }.compactMap { $0["ETag"]?.filter { $0 != "\"" } }
            guard !tags.isEmpty, let record = try? record(call.bucket, call.key), record.etag == Self.etag(of: tags)
            else { throw error }
            return Self.completed(record, call)
        }
        let conditions = try WriteConditions(call.request.headers)
        let present = try await store.index.read { try $0.parts(upload.id) }
        let parts = try Self.select(tree, from: present, upload.checksum?.algorithm)
        var headers = upload.headers.filter { !$0.key.hasPrefix("x-amz-checksum-") }
        headers.merge(try Self.checksums(of: upload, parts, call.request.headers)) { $1 }
        let store = store
        // One that nobody spoke of before is computed while the parts are joined.
        let late = upload.checksum == nil ? ObjectChecksum.declared(call.request.headers) : nil
        let (file, size) = try await store.run {
            var incoming = try store.makeIncoming(late?.digest ?? [])
            for part in parts {
                let input = try Self.open(part, of: upload.id, in: store)
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
            key: upload.key, file: file, size: size, etag: Self.etag(of: parts.map(\.etag)), modified: now(),
            contentType: upload.contentType, headers: headers)
        try await commit(record, in: call.bucket, conditions)
        let unused = try await store.index.write { database in
            let files = try database.parts(upload.id).map(\.file)
            try database.execute("DELETE FROM upload WHERE id = ?", [.text(upload.id)])
            return files
        }
        await store.discard(unused)
        return Self.completed(record, call)
    }

    /// Opens a part that may lie elsewhere since it was looked up.
    static func open(_ part: UploadedPart, of upload: String, in store: BucketStore) throws -> StoredObject {
        do {
            return try store.open(part.file, size: part.size)
        } catch let error as SystemError where error.code == .notFound {
            let present = try store.index.readHere { try $0.parts(upload) }.first { $0.number == part.number }
            guard let present, present.etag == part.etag, present.file != part.file else { throw error }
            return try open(present, of: upload, in: store)
        }
    }

    /// The checksum fields of the whole.
    /// - Throws: where the client's is another one.
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

    /// The entity tag of an object that is joined from parts with these.
    private static func etag(of parts: [String]) -> String {
        let sums = parts.flatMap { Hex.decode($0.prefix(32)) ?? [] }
        return "\(Hex.encode(MD5.hash(sums)))-\(parts.count)"
    }

    private static func select(
        _ tree: XMLTree, from present: [UploadedPart], _ algorithm: ObjectChecksum?
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
        guard parts.reduce(0, { $0 + $1.size }) <= objectLimit else { throw S3Error.entityTooLarge }
        return parts
    }

    private func partNumber(_ call: S3Call) throws -> Int {
        guard let number = call.parameter("partNumber").flatMap({ Int($0) }), (1...10_000).contains(number) else {
            throw S3Error.invalidArgument("Part number must be an integer between 1 and 10000, inclusive")
        }
        return number
    }

    /// The upload that the call names; it belongs to this bucket and key.
    private func upload(_ call: S3Call) async throws -> MultipartUpload {
        let id = call.parameter("uploadId") ?? ""
        guard let upload = try await store.index.read({ try $0.upload(id) }), upload.bucket == call.bucket,
            upload.key == call.key
        else { throw S3Error.noSuchUpload }
        return upload
    }
}

extension SQLiteDatabase {
    fileprivate func upload(_ id: String) throws -> MultipartUpload? {
        try first("SELECT id, bucket, key, created, type, headers FROM upload WHERE id = ?", [.text(id)]) {
            MultipartUpload(row: $0)
        }
    }

    fileprivate func uploads(_ bucket: String) throws -> [MultipartUpload] {
        var uploads: [MultipartUpload] = []
        try query(
            "SELECT id, bucket, key, created, type, headers FROM upload WHERE bucket = ? ORDER BY key, id",
            [.text(bucket)]
        ) { uploads.append(MultipartUpload(row: $0)) }
        return uploads
    }

    fileprivate func parts(_ upload: String) throws -> [UploadedPart] {
        var parts: [UploadedPart] = []
        try query(
            "SELECT number, file, size, etag, modified, checksum FROM part WHERE upload = ? ORDER BY number",
            [.text(upload)]
        ) { row in
            parts.append(
                UploadedPart(
                    number: row.int(0), file: row.text(1), size: row.int64(2), etag: row.text(3),
                    modified: row.int64(4), checksum: row.optionalText(5)))
        }
        return parts
    }
}

extension MultipartUpload {
    fileprivate init(row: SQLiteStatement) {
        self.init(
            id: row.text(0), bucket: row.text(1), key: row.text(2), created: row.int64(3), contentType: row.text(4),
            headers: [String: String](jsonText: row.text(5)))
    }
}
