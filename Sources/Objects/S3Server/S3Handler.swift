package import BucketStore
import CivilTime
package import HTTPMessages
package import HTTPServer
import ObjectStorage
import SQLite
import SystemIO
import XML

/// The S3 REST protocol over a bucket store, with path-style addresses and Signature Version 4.
///
/// The handler authenticates each request and passes it to the resource that it names.
package struct S3Handler: Sendable {
    private let context: S3Context
    private let signatures: SignatureV4
    private let buckets: BucketResource
    private let settings: SettingsResource
    private let listings: ListingResource
    private let crossOrigin: CORSResource
    private let objects: ObjectResource
    private let archives: ArchiveResource
    private let multipart: MultipartResource
    private let forms: FormResource

    /// - Parameters:
    ///   - now: The server's clock, in microseconds since 1970.
    ///   - onError: Receives the errors that clients see as `InternalError` only, and reports of
    ///     lost objects.
    package init(
        store: DirectoryBucketStore, credentials: any S3CredentialSource, policy: any ObjectAccessPolicy,
        quotas: any ObjectQuotas, now: @escaping @Sendable () -> Int64,
        onError: @escaping @Sendable (any Error) -> Void
    ) {
        context = S3Context(store: store, policy: policy, quotas: quotas, now: now, onError: onError)
        signatures = SignatureV4(credentials, now: { now() / 1_000_000 })
        archives = ArchiveResource(context: context)
        objects = ObjectResource(context: context, archives: archives)
        multipart = MultipartResource(context: context)
        listings = ListingResource(store: store)
        crossOrigin = CORSResource(context: context)
        settings = SettingsResource(context: context, crossOrigin: crossOrigin)
        buckets = BucketResource(context: context)
        forms = FormResource(signatures: signatures, objects: objects)
    }

    /// Reports an error of the server to its log.
    package func report(_ error: any Error) { context.onError(error) }

    /// Returns the response to a request. Errors become Amazon's XML.
    package func respond(to request: HTTPServerRequest) async -> HTTPResponse {
        let id = SystemRandom.hex(8)
        var response: HTTPResponse
        do {
            response = try await answer(request)
        } catch let error as S3Error {
            response = self.response(to: error, request, id)
        } catch is CancellationError {
            response = self.response(to: S3Error("RequestTimeout", "The request was cancelled.", 400), request, id)
        } catch let error as SystemError where error.code == .noSpace {
            context.onError(FullDisk())
            response = self.response(to: .noSpace, request, id)
        } catch let error as SQLiteError where error.code == .full {
            context.onError(FullDisk())
            response = self.response(to: .noSpace, request, id)
        } catch {
            context.onError(error)
            let fault = S3Error("InternalError", "We encountered an internal error. Please try again.", 500)
            response = self.response(to: fault, request, id)
        }
        for field in crossOrigin.headers(for: request, bucket: Self.place(request).bucket) {
            response.headers.add(field.name, field.value)
        }
        response.headers["x-amz-request-id"] = id
        response.headers["Date"] = UTCTime(microseconds: context.now()).imfFixdate
        return response
    }

    /// A full disk. The text is the same each time, so that the log reports it once.
    private struct FullDisk: Error, CustomStringConvertible {
        let description = "The disk is full. Free some space; clients retry automatically."
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
        return HTTPResponse(error.status, headers: headers, body: .bytes(body.document()))
    }

    private func answer(_ request: HTTPServerRequest) async throws -> HTTPResponse {
        let (bucket, key) = Self.place(request)
        if request.method == .options { return try crossOrigin.preflight(request, bucket: bucket) }
        if request.method == .post, key.isEmpty, FormReader.isForm(request.headers["Content-Type"]) {
            try S3Call.check(bucket: bucket)
            return try await forms.post(request, bucket: bucket)
        }
        let authentication = try await signatures.authenticate(request)
        let request = request.withHeadersOfQuery()
        try RequestHeaderRules.check(request.headers)
        let call = S3Call(request: request, authentication: authentication, bucket: bucket, key: key)
        try context.admit(call)
        if bucket.isEmpty {
            guard request.method == .get else { throw S3Error.methodNotAllowed }
            return try await buckets.list(call)
        }
        try S3Call.check(bucket: bucket)
        guard !key.isEmpty else { return try await answerBucket(call) }
        try S3Call.check(key: key)
        guard try await allows(call) else { throw S3Error.accessDenied }
        return try await answerObject(call)
    }

    /// Returns the bucket and the key that a request names, each empty if it names none.
    private static func place(_ request: HTTPServerRequest) -> (bucket: String, key: String) {
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
        return try await context.mayRead(call.key, in: call.bucket, call.credential)
    }

    private func answerBucket(_ call: S3Call) async throws -> HTTPResponse {
        switch call.request.method {
        case .get:
            if call.has("location") { return try buckets.location(call) }
            if call.has("uploads") { return try await multipart.listUploads(call) }
            if call.has("versions") { return try await listings.versions(call) }
            if let answer = try settings.ofBucket(call) { return answer }
            return try await listings.objects(call)
        case .head: return try buckets.head(call)
        case .put where call.has("cors"): return try await crossOrigin.put(call)
        case .put where call.has("acl"): return try await settings.putACL(call)
        case .put:
            try call.refuseSetting()
            return try await buckets.create(call)
        case .delete where call.has("cors"): return try await crossOrigin.delete(call)
        case .delete:
            try call.refuseSetting()
            return try await buckets.delete(call)
        case .post where call.has("delete"): return try await objects.deleteAll(call)
        case .post where call.has(S3ObjectStore.archiveQuery): return try await archives.get(call)
        default: throw S3Error.methodNotAllowed
        }
    }

    private func answerObject(_ call: S3Call) async throws -> HTTPResponse {
        try call.checkVersion()
        if let answer = try await settings.ofObject(call) { return answer }
        let isCopy = call.request.headers["x-amz-copy-source"] != nil
        switch call.request.method {
        case .get: return call.has("uploadId") ? try await multipart.listParts(call) : try await objects.get(call)
        case .head: return try await objects.get(call)
        case .put where call.has("uploadId"):
            return isCopy ? try await multipart.copyPart(call) : try await multipart.putPart(call)
        case .put: return isCopy ? try await objects.copy(call) : try await objects.put(call)
        case .post where call.has("uploads"): return try await multipart.create(call)
        case .post where call.has("uploadId"): return try await multipart.complete(call)
        case .delete: return call.has("uploadId") ? try await multipart.abort(call) : try await objects.delete(call)
        default: throw S3Error.methodNotAllowed
        }
    }
}
