import HTTPMessages
import HTTPServer
import ObjectStorage
import SQLite
import SystemIO

/// The S3 REST protocol over a `BucketStore`: path-style addresses, Signature V4.
struct S3Handler: Sendable {
    let store: BucketStore
    let signatures: SignatureV4
    /// Whether the user who may use the keys beneath a prefix may read another user's object in the users' bucket.
    let shares: @Sendable (_ key: String, _ prefix: String) async throws -> Bool
    let limits: AccountQuotas
    /// The server's clock, microseconds since 1970.
    let now: @Sendable () -> Int64
    /// Told of errors that the client only sees as `InternalError`.
    let onError: @Sendable (any Error) -> Void

    /// For archives that are being taken apart or made, and documents that are read.
    let bodyMemory = BodyMemory(128 << 20, accountLimit: 16 << 20)

    /// Bytes of an object at most, whether put whole or in parts.
    static let objectLimit: Int64 = 5 << 40

    /// Answers every request; errors become Amazon's XML.
    func respond(to request: HTTPServerRequest) async -> HTTPResponse {
        let id = SystemRandom.hex(8)
        var response: HTTPResponse
        do {
            response = try await answer(request)
        } catch let error as S3Error {
            response = self.response(to: error, request, id)
        } catch is CancellationError {
            response = self.response(to: S3Error("RequestTimeout", "The request was cancelled.", 400), request, id)
        } catch let error as SystemError where error.code == .noSpace {
            onError(FullDisk())
            response = self.response(to: .noSpace, request, id)
        } catch let error as SQLiteError where error.code == .full {
            onError(FullDisk())
            response = self.response(to: .noSpace, request, id)
        } catch {
            onError(error)
            let fault = S3Error("InternalError", "We encountered an internal error. Please try again.", 500)
            response = self.response(to: fault, request, id)
        }
        for field in corsHeaders(request) { response.headers.add(field.name, field.value) }
        response.headers["x-amz-request-id"] = id
        response.headers["Date"] = S3Date.http(microseconds: now())
        return response
    }

    /// The same words each time, so that the log has them once.
    private struct FullDisk: Error, CustomStringConvertible {
        let description = "The disk is full. Make room; clients try again by themselves."
    }

    private func response(to error: S3Error, _ request: HTTPServerRequest, _ id: String) -> HTTPResponse {
        var headers = error.headers
        guard request.method != .head else { return HTTPResponse(error.status, headers: headers) }
        headers["Content-Type"] = "application/xml"
        let body = XMLElement(
            "Error",
            [
                XMLElement("Code", error.code), XMLElement("Message", error.message),
                XMLElement("Resource", request.target.path), XMLElement("RequestId", id),
            ])
        return HTTPResponse(error.status, headers: headers, body: .bytes(body.document(namespace: "")))
    }

    private func answer(_ request: HTTPServerRequest) async throws -> HTTPResponse {
        let (bucket, key) = Self.place(request)
        if request.method == .options { return try preflight(request, bucket: bucket) }
        if request.method == .post, key.isEmpty, FormReader.isForm(request.headers["Content-Type"]) {
            try S3Call.check(bucket: bucket)
            return try await postObject(request, bucket: bucket)
        }
        let authentication = try await signatures.authenticate(request)
        let request = request.withHeadersOfQuery()
        try RequestHeaderRules.check(request.headers)
        let call = S3Call(request: request, authentication: authentication, bucket: bucket, key: key)
        try admit(call)
        if bucket.isEmpty {
            guard request.method == .get else { throw S3Error.methodNotAllowed }
            return try await listBuckets(call)
        }
        try S3Call.check(bucket: bucket)
        guard !key.isEmpty else { return try await answerBucket(call) }
        try S3Call.check(key: key)
        guard try await allows(call) else { throw S3Error.accessDenied }
        return try await answerObject(call)
    }

    /// The bucket and the key that a request names; empty where it names none.
    static func place(_ request: HTTPServerRequest) -> (bucket: String, key: String) {
        let path = request.target.path.dropFirst()
        let slash = path.firstIndex(of: "/")
        return (
            String(path[..<(slash ?? path.endIndex)]), slash.map { String(path[path.index(after: $0)...]) } ?? ""
        )
    }

    private func allows(_ call: S3Call) async throws -> Bool {
        guard [.get, .head].contains(call.request.method), !call.has("uploadId") else {
            return call.credential.allows(key: call.key)
        }
        return try await mayRead(call.key, in: call.bucket, call.credential)
    }

    /// Whether the caller may read an object: users read what is beneath their own prefix, and the attachments of tasks in the
    /// lists that they share. See `SharedObjects`.
    func mayRead(_ key: String, in bucket: String, _ credential: S3Credential) async throws -> Bool {
        if credential.allows(key: key) { return true }
        guard let own = credential.prefix, bucket == ServerEndpoints.bucket else { return false }
        return try await shares(key, own)
    }

    private func answerBucket(_ call: S3Call) async throws -> HTTPResponse {
        switch call.request.method {
        case .get:
            if call.has("location") { return try await location(call) }
            if call.has("uploads") { return try await listUploads(call) }
            if call.has("versions") { return try await listVersions(call) }
            if let answer = try await bucketSetting(call) { return answer }
            return try await listObjects(call)
        case .head: return try await headBucket(call)
        case .put where call.has("cors"): return try await putCORS(call)
        case .put where call.has("acl"): return try await putACL(call)
        case .put:
            try call.refuseSetting()
            return try await createBucket(call)
        case .delete where call.has("cors"): return try await deleteCORS(call)
        case .delete:
            try call.refuseSetting()
            return try await deleteBucket(call)
        case .post where call.has("delete"): return try await deleteObjects(call)
        case .post where call.has(S3ObjectStore.archiveQuery): return try await getArchive(call)
        default: throw S3Error.methodNotAllowed
        }
    }

    private func answerObject(_ call: S3Call) async throws -> HTTPResponse {
        try call.checkVersion()
        if let answer = try await objectSetting(call) { return answer }
        let isCopy = call.request.headers["x-amz-copy-source"] != nil
        switch call.request.method {
        case .get: return call.has("uploadId") ? try await listParts(call) : try await getObject(call)
        case .head: return try await getObject(call)
        case .put where call.has("uploadId"): return isCopy ? try await copyPart(call) : try await putPart(call)
        case .put: return isCopy ? try await copyObject(call) : try await putObject(call)
        case .post where call.has("uploads"): return try await createUpload(call)
        case .post where call.has("uploadId"): return try await completeUpload(call)
        case .delete: return call.has("uploadId") ? try await abortUpload(call) : try await deleteObject(call)
        default: throw S3Error.methodNotAllowed
        }
    }
}

/// A request that was authenticated and taken apart.
struct S3Call: Sendable {
    let request: HTTPServerRequest
    let authentication: AuthenticatedRequest
    let bucket: String
    /// Empty for calls on the bucket.
    let key: String

    var credential: S3Credential { authentication.credential }

    func has(_ parameter: String) -> Bool { request.target[query: parameter] != nil }

    func parameter(_ name: String) -> String? { request.target[query: name] }

    /// An integer parameter within a range; `otherwise` where it is absent.
    func integer(_ name: String, in range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = parameter(name), !text.isEmpty else { return otherwise }
        guard let number = Int(text), number >= range.lowerBound else {
            throw S3Error.invalidArgument("\(name) must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return min(number, range.upperBound)
    }

    /// Only administrators make, list and delete buckets.
    func requireAdministrator() throws {
        guard credential.isAdministrator else { throw S3Error.accessDenied }
    }

    static func check(key: String) throws {
        guard key.utf8.count <= 1024, !key.unicodeScalars.contains("\u{10FFFF}") else {
            throw S3Error("KeyTooLongError", "Your key is too long", 400)
        }
    }

    /// Bucket names: 3 to 63 of lower-case letters, digits, dots and hyphens, with a letter or digit at both ends.
    static func check(bucket: String) throws {
        let bytes = bucket.utf8
        func isAlphanumeric(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
        guard (3...63).contains(bytes.count), bytes.allSatisfy({ isAlphanumeric($0) || $0 == 0x2D || $0 == 0x2E }),
            bytes.first.map(isAlphanumeric) == true, bytes.last.map(isAlphanumeric) == true,
            bytes.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
        else { throw S3Error("InvalidBucketName", "The specified bucket is not valid.", 400) }
    }
}

extension HTTPResponse {
    static func xml(_ element: XMLElement, headers: HTTPHeaders = [:]) -> HTTPResponse {
        var headers = headers
        headers["Content-Type"] = "application/xml"
        return HTTPResponse(headers: headers, body: .bytes(element.document()))
    }
}
