import CivilTime
import Cryptography
import Glibc
package import HTTPClient
import HTTPMessages
import Synchronization
import SystemIO

/// A bucket of a store with the S3 REST protocol.
///
/// Each request is attempted once; wrap the store in a `RetryingObjectStore` for retries. Only a
/// wrong clock and expired credentials are corrected here. A response that does not look like that
/// of an S3 store, such as the sign-in page of a hotel network, is `.transient` and never taken for
/// an object.
public final class S3ObjectStore: ObjectStore {
    /// The maximum number of bytes of a listing (1000 keys of 1024 bytes, escaped) or an error.
    private static let documentLimit = 8 << 20

    let configuration: S3Configuration
    private let credentials: S3CredentialCache
    private let client: HTTPClient
    private let localTime: @Sendable () -> Int64
    /// The number of seconds by which the clock of the store is ahead of the local clock.
    private let clockOffset = Mutex<Int64>(0)
    private let puts = RequestBatcher<SmallPut, Void>(byteLimit: S3ObjectStore.archiveSize) { $0.content.count }
    private let reads = RequestBatcher<SmallRead, [UInt8]>(byteLimit: S3ObjectStore.answerSize) {
        max($0.limit, S3ObjectStore.answerSize / S3ObjectStore.namesLimit)
    }
    /// Whether the store unpacks archives, as far as is known.
    let takesArchives: Mutex<Bool>
    /// Whether the store creates archives, as far as is known.
    let givesArchives: Mutex<Bool>
    /// The last signature. The next one usually uses the same signing key.
    private let signature = Mutex<S3Signature?>(nil)

    /// Creates a store.
    ///
    /// - Parameter now: The local clock in seconds since 1970, which may be wrong.
    package init(
        _ configuration: S3Configuration, credentials: @escaping S3Credentials.Provider, client: HTTPClient,
        now: @escaping @Sendable () -> Int64 = { Environment.system.wallClock() / 1000 }
    ) {
        self.configuration = configuration
        self.credentials = S3CredentialCache(credentials)
        self.client = client
        takesArchives = Mutex(configuration.usesArchives)
        givesArchives = Mutex(configuration.usesArchives)
        localTime = now
    }

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - certificateAuthorities: A PEM file with the certificates to trust instead of those of
    ///     the system.
    ///   - credentials: Returns the credentials for the requests.
    public convenience init(
        _ configuration: S3Configuration, certificateAuthorities: String? = nil,
        credentials: @escaping S3Credentials.Provider
    ) {
        var settings = HTTPClient.Configuration()
        settings.certificateAuthorities = certificateAuthorities
        self.init(configuration, credentials: credentials, client: HTTPClient(settings))
    }

    /// Puts the object with one request, or together with other small objects if the configuration
    /// uses archives.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        if type == .octetStream, takesArchives.withLock({ $0 }), Self.canTravelTogether(key, content.count) {
            return try await puts.run(SmallPut(key: key, content: content)) { await self.put($0) }
        }
        let call = S3Call(.put, key: key, headers: ["Content-Type": type.description], content: content)
        try await put(call, hash: hash?.digest)
    }

    @discardableResult
    func put(_ call: S3Call, hash: SHA256Digest?) async throws -> HTTPHeaders {
        let what = "cannot put \(call.key?.text ?? "")"
        var call = call
        if configuration.integrity == .crc32c, configuration.guardsWay {
            var check = CRC32(.castagnoli)
            check.update(call.content)
            call.headers["x-amz-checksum-crc32c"] = Base64.encode(check.bytes)
            call.payload = .unsigned
        } else {
            let hash = hash ?? SHA256.hash(call.content)
            if configuration.integrity != .signature {
                call.headers["x-amz-checksum-sha256"] = Base64.encode(hash.bytes)
            }
            call.payload = .signed(hash)
        }
        let response = try await send(call, what)
        guard response.status == .ok, response.headers["ETag"] != nil else {
            throw try await refusal(response).error(what)
        }
        try await drain(response)
        return response.headers
    }

    /// Requests the object, or a range of it. Each part has the length in which it arrives.
    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        var call = S3Call(.get, key: key)
        if let range {
            guard !range.isEmpty, range.lowerBound >= 0 else {
                throw ObjectStorageError(.invalid, "an empty range of \(key) was asked for")
            }
            call.headers["Range"] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        }
        let response = try await send(call, "cannot get \(key)")
        guard response.status == (range == nil ? .ok : .partialContent), let length = response.headers.contentLength,
            let version = response.headers["ETag"], let size = objectSize(response.headers, range, length)
        else { throw try await refusal(response).error("cannot get \(key)") }
        let info = ObjectInfo(
            key: key, size: size, version: version,
            modified: response.headers["Last-Modified"].flatMap { UTCTime(imfFixdate: $0)?.seconds })
        let body = response.body
        let reader = BodyReader(body)
        return ObjectContent(info: info, length: Int64(length)) {
            do {
                return try await reader.next()
            } catch let error as HTTPError {
                throw Self.error(error, "cannot get \(key)")
            }
        } rest: { bytes in
            do {
                try await body.appendRest(to: &bytes)
            } catch let error as HTTPError {
                throw Self.error(error, "cannot get \(key)")
            }
        }
    }

    /// Reads the object, together with other small objects if the configuration uses archives.
    public func read(_ key: ObjectKey, limit: Int) async throws -> [UInt8] {
        guard givesArchives.withLock({ $0 }), Self.canTravelTogether(key, limit) else {
            return try await get(key).collect(limit: limit)
        }
        return try await reads.run(SmallRead(key: key, limit: limit)) { await self.read($0) }
    }

    /// Requests the properties of the object; nil if there is none.
    public func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        let response = try await send(S3Call(.head, key: key), "cannot look for \(key)")
        if response.status == .notFound { return nil }
        guard response.status == .ok, let version = response.headers["ETag"],
            let size = response.headers.contentLength
        else { throw try await refusal(response).error("cannot look for \(key)") }
        return ObjectInfo(
            key: key, size: Int64(size), version: version,
            modified: response.headers["Last-Modified"].flatMap { UTCTime(imfFixdate: $0)?.seconds })
    }

    /// Requests one page of the objects whose keys begin with `prefix`.
    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        let what = "cannot list \(prefix.isEmpty ? configuration.bucket : prefix)"
        var query = [
            ("list-type", "2"), ("prefix", prefix), ("max-keys", "\(max(1, min(limit, 1000)))"),
            ("encoding-type", "url"),
        ]
        if let after { query.append(("start-after", after.text)) }
        let response = try await send(S3Call(.get, query: query), what)
        guard response.status == .ok else { throw try await refusal(response).error(what) }
        let document = try await collect(response, what)
        guard let page = S3Listing.page(document) else {
            throw S3Refusal(status: response.status, headers: response.headers, body: document).error(what)
        }
        return page
    }

    /// Deletes the object. It is no error if there is none.
    public func delete(_ key: ObjectKey) async throws {
        let response = try await send(S3Call(.delete, key: key), "cannot delete \(key)")
        guard response.status == .noContent || response.status == .ok && response.headers["x-amz-request-id"] != nil
        else {
            let refusal = try await refusal(response)
            if refusal.code == "NoSuchKey" { return }
            throw refusal.error("cannot delete \(key)")
        }
        try await drain(response)
    }

    /// The operation that a presigned URL allows.
    public enum PresignedAccess: Sendable {
        /// Reading the object.
        case get
        /// Putting the object.
        case put
    }

    /// Creates a URL with which any HTTP client can get or put one object without credentials.
    ///
    /// The store is not asked: whether the credentials permit the operation shows only when the URL
    /// is used. Throws `.invalid` if `expires` is out of range.
    ///
    /// - Parameter expires: How long the URL is valid, in whole seconds, from one second to seven
    ///   days. It expires earlier if the credentials do.
    public func presignedURL(
        _ access: PresignedAccess, _ key: ObjectKey, expires: Duration = .seconds(3600)
    ) async throws -> String {
        let seconds = expires.components.seconds
        guard (1...604_800).contains(seconds) else {
            throw ObjectStorageError(.invalid, "a presigned URL is good for a second to seven days, not \(expires)")
        }
        let now = storeTime
        let signature = signature(with: try await credentials.credentials(now: now), at: now)
        let path = path(of: key)
        let query = signature.presign(
            method: access == .get ? .get : .put, host: configuration.host, path: path, expires: Int(seconds))
        return "\(origin)\(path)?\(query)"
    }

    /// Sends a call. Repeats it once if new credentials or the correct time may help.
    func send(_ call: S3Call, _ what: String) async throws -> HTTPResponse {
        var isSecondTry = false
        while true {
            let now = storeTime
            let keys = try await credentials.credentials(now: now)
            let response: HTTPResponse
            do {
                response = try await client.send(request(call, keys, now))
            } catch let error as HTTPError {
                throw Self.error(error, what)
            }
            guard !isSecondTry, response.status == .forbidden || response.status == .badRequest else { return response }
            isSecondTry = true
            let skew = clockSkew(response)
            let refusal = try await refusal(response)
            switch refusal.remedy {
            case .correctClock:
                guard let skew else { throw refusal.error(what) }
                clockOffset.withLock { $0 = skew }
            case .renewCredentials:
                if let skew, abs(skew - clockOffset.withLock { $0 }) > 240 { clockOffset.withLock { $0 = skew } }
                credentials.reject(keys.accessKey)
            case .none:
                throw refusal.error(what)
            }
        }
    }

    /// The clock of the store in seconds since 1970, as far as it is known: a wrong local clock is
    /// noticed when the store rejects a request.
    package var storeTime: Int64 { localTime() + clockOffset.withLock { $0 } }

    private func clockSkew(_ response: HTTPResponse) -> Int64? {
        response.headers["Date"].flatMap { UTCTime(imfFixdate: $0)?.seconds }.map { $0 - localTime() }
    }

    private func request(_ call: S3Call, _ keys: S3Credentials, _ now: Int64) -> HTTPRequest {
        let path = path(of: call.key)
        let headers = signature(with: keys, at: now).sign(
            method: call.method, host: configuration.host, path: path, query: call.query,
            headers: call.headers, payload: call.payload)
        let query = call.query.isEmpty ? "" : "?" + S3Signature.canonical(call.query)
        var request = HTTPRequest(
            call.method, "\(origin)\(path)\(query)", headers: headers,
            body: call.content.isEmpty ? .none : .bytes(call.content),
            timeouts: .init(
                connect: configuration.connect, stall: configuration.stall, minimumRate: configuration.minimumRate))
        request.prefersWhole = true
        return request
    }

    private func signature(with keys: S3Credentials, at time: Int64) -> S3Signature {
        signature.withLock { last in
            let next = S3Signature(credentials: keys, region: configuration.region, time: time, earlier: last)
            last = next
            return next
        }
    }

    private var origin: String { "\(configuration.isSecure ? "https" : "http")://\(configuration.host)" }

    /// Returns the path of a key, percent-encoded once, with its slashes kept, as signatures of S3
    /// (but no other service of Amazon) require.
    private func path(of key: ObjectKey?) -> String {
        let path = configuration.path + (key.map { "/" + PercentEncoding.encode($0.text, keeping: "/") } ?? "")
        return path.isEmpty ? "/" : path
    }

    /// Returns the size of the whole object; nil if the range of the response is not the requested
    /// one.
    private func objectSize(_ headers: HTTPHeaders, _ range: Range<Int64>?, _ length: Int) -> Int64? {
        guard let range else { return Int64(length) }
        guard let field = headers["Content-Range"], field.hasPrefix("bytes ") else { return nil }
        let parts = field.dropFirst(6).split(whereSeparator: { $0 == "-" || $0 == "/" }).map { Int64($0) }
        guard parts.count == 3, let first = parts[0], let last = parts[1], let size = parts[2],
            first == range.lowerBound, first <= last, last < range.upperBound, last - first + 1 == Int64(length)
        else { return nil }
        return size
    }

    func refusal(_ response: HTTPResponse) async throws -> S3Refusal {
        let body = (try? await response.body.collect(limit: Self.documentLimit)) ?? []
        try Task.checkCancellation()
        return S3Refusal(status: response.status, headers: response.headers, body: body)
    }

    private func collect(_ response: HTTPResponse, _ what: String) async throws -> [UInt8] {
        do {
            return try await response.body.collect(limit: Self.documentLimit)
        } catch let error as HTTPError {
            throw Self.error(error, what)
        }
    }

    /// Reads the rest of the body, so that the connection can be reused.
    private func drain(_ response: HTTPResponse) async throws {
        _ = try? await response.body.collect(limit: Self.documentLimit)
    }

    static func error(_ error: HTTPError, _ what: String) -> ObjectStorageError {
        let isTransient = error.code.isTransient || error.code == .protocolViolation
        return ObjectStorageError(isTransient ? .transient : .unavailable, "\(what): \(error)", cause: error)
    }
}

/// A request before it is signed.
struct S3Call: Sendable {
    let method: HTTPMethod
    var key: ObjectKey?
    var query: [(String, String)] = []
    var headers: HTTPHeaders = [:]
    var content: [UInt8] = []
    var payload = S3Signature.Payload.signed(S3Call.hashOfNothing)

    private static let hashOfNothing = SHA256.hash([])

    init(
        _ method: HTTPMethod, key: ObjectKey? = nil, query: [(String, String)] = [], headers: HTTPHeaders = [:],
        content: [UInt8] = []
    ) {
        self.method = method
        self.key = key
        self.query = query
        self.headers = headers
        self.content = content
    }
}

/// The shared iterator of a body, for one reader at a time. It is no actor, because a change of
/// executors for each part would be too slow.
private final class BodyReader: Sendable {
    private let iterator: Mutex<HTTPBody.Iterator>

    init(_ body: HTTPBody) { iterator = Mutex(body.makeAsyncIterator()) }

    func next() async throws -> [UInt8]? {
        var current = iterator.withLock { $0 }
        defer { iterator.withLock { [current] in $0 = current } }
        return try await current.next()
    }
}
