import Cryptography
import HTTPMessages
import HTTPServer
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
        let credential = call.credential
        _ = try await store.index.write { [type, headers] database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            if let prefix = credential.prefix {
                try credential.uploads.checkBeginning(besides: database.unfinished(bucket, prefix: prefix).uploads)
            }
            try database.execute(
                "INSERT INTO upload(id, bucket, key, created, type, headers) VALUES (?, ?, ?, ?, ?, ?)",
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
        // One that does not fit is refused before it has come.
        try store.index.readHere { database in
            try database.check(Int64(call.request.body.length ?? 0), number, of: upload, call.credential)
        }
        let algorithm = upload.checksum?.algorithm
        if !Self.isSmall(call) { try requireRoom(call) }
        let received = try await receive(call, computing: algorithm)
        try await commit(
            UploadedPart(
                number: number, file: received.file, size: received.size, etag: received.etag, modified: now(),
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
        let copy = try await copy(
            call, computing: { _ in algorithm },
            span: { source in
                let span = try ObjectHeaders.copyRange(range, size: source.size)
                try store.index.readHere { try $0.check(Int64(span.count), number, of: upload, call.credential) }
                return span
            })
        let part = UploadedPart(
            number: number, file: copy.file, size: copy.size, etag: copy.md5, modified: now(),
            checksum: copy.checksum?.value)
        try await commit(part, of: upload, call.credential)
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

    private func commit(_ part: UploadedPart, of upload: MultipartUpload, _ credential: S3Credential) async throws {
        do {
            let unused = try await store.index.write { database in
                guard try database.upload(upload.id) != nil else { throw S3Error.noSuchUpload }
                let replaced = try database.part(upload.id, part.number)
                try database.check(part.size, part.number, of: upload, credential)
                let more = UploadLimits.count(part.size) - (replaced.map { UploadLimits.count($0.size) } ?? 0)
                try database.execute(
                    "UPDATE upload SET counted = counted + ? WHERE id = ?", [.integer(more), .text(upload.id)])
                try database.execute(
                    // Not INSERT OR REPLACE, which runs no triggers for what it replaces.
                    """
                    INSERT INTO part VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (upload, number) DO UPDATE SET
                        file = excluded.file, size = excluded.size, etag = excluded.etag, modified = excluded.modified,
                        checksum = excluded.checksum
                    """,
                    [
                        .text(upload.id), .int(part.number), .text(part.file), .integer(part.size), .text(part.etag),
                        .integer(part.modified), .optional(part.checksum),
                    ])
                try checkQuota(of: upload.key, growth: part.size - (replaced?.size ?? 0), in: database)
                return replaced.map { [$0.file] } ?? []
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
        let delimiter = call.parameter("delimiter").flatMap { $0.isEmpty ? nil : $0 }
        let listing = try await store.index.read { database in
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
                            XMLElement("Initiated", S3Date.xml(microseconds: upload.created)),
                            XMLElement("StorageClass", "STANDARD"), Self.owner, Self.identity("Initiator"),
                        ] + upload.checksumElements))
            }
        }
        return .xml(XMLElement("ListMultipartUploadsResult", children))
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
        try await commit(record, in: call.bucket, conditions, completing: upload.id)
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

    /// A page of a listing of uploads.
    fileprivate struct UploadListing {
        enum Entry {
            case upload(MultipartUpload)
            case prefix(String)
        }

        var entries: [Entry] = []
        /// Behind which key and upload the next page begins; nil at the end.
        var next: (key: String, id: String)?
    }

    /// Uploads whose keys begin with `prefix`, by key and id, grouped at `delimiter`.
    ///
    /// - Parameter after: Without an id, all uploads of the key come before.
    fileprivate func uploads(
        _ bucket: String, prefix: String, delimiter: String?, after: (key: String, id: String), limit: Int
    ) throws -> UploadListing {
        var listing = UploadListing()
        var after = after
        // A page that ended with a group is followed by what comes behind that group.
        var jumps = delimiter.map { after.key.commonPrefix(after: prefix, delimiter: $0) == after.key } ?? false
        while true {
            let start = jumps ? after.key.endOfPrefix : after.key
            var page: [MultipartUpload] = []
            try query(
                """
                SELECT id, bucket, key, created, type, headers FROM upload
                WHERE bucket = ?1 AND key >= ?2 AND key < ?3 AND (key > ?4 OR key = ?4 AND ?5 <> '' AND id > ?5)
                ORDER BY key, id LIMIT ?6
                """,
                [
                    .text(bucket), .text(prefix), .text(prefix.endOfPrefix), .text(start),
                    .text(jumps ? "" : after.id), .int(limit + 1),
                ]
            ) { page.append(MultipartUpload(row: $0)) }
            guard !page.isEmpty else { return listing }
            jumps = false
            for upload in page {
                guard listing.entries.count < limit else {
                    listing.next = after
                    return listing
                }
                if let delimiter, let group = upload.key.commonPrefix(after: prefix, delimiter: delimiter) {
                    listing.entries.append(.prefix(group))
                    after = (group, "")
                    jumps = true
                    break
                }
                listing.entries.append(.upload(upload))
                after = (upload.key, upload.id)
            }
        }
    }

    /// Refuses a part that the account has no room for; one of the same number gives its room.
    fileprivate func check(
        _ size: Int64, _ number: Int, of upload: MultipartUpload, _ credential: S3Credential
    ) throws {
        guard let prefix = credential.prefix else { return }
        let replaced = try part(upload.id, number).map { UploadLimits.count($0.size) } ?? 0
        let counted = try unfinished(upload.bucket, prefix: prefix).counted
        try credential.uploads.checkPart(size, besides: counted - replaced)
    }

    fileprivate func part(_ upload: String, _ number: Int) throws -> (file: String, size: Int64)? {
        try first("SELECT file, size FROM part WHERE upload = ? AND number = ?", [.text(upload), .int(number)]) {
            ($0.text(0), $0.int64(1))
        }
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
