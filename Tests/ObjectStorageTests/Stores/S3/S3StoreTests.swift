import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import ObjectStorage
import ObjectStoreTestKit
import Synchronization
import Testing

@Suite struct S3StoreTests {
    private let key: ObjectKey

    init() throws { key = try ObjectKey("u/chunks/a b+c") }

    private func code(_ body: () async throws -> Void) async -> ObjectStorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ObjectStorageError)?.code
        }
    }

    @Test func `a put has a signature over its content, and a content type`() async throws {
        let server = ScriptedServer(ScriptedServer.stored)
        let store = try await server.store()
        try await store.put(key, Array("hello".utf8), type: .plain)
        let request = try #require(server.seen.first)
        #expect(request.method == .put)
        #expect(request.target.rawPath == "/ferry/u/chunks/a%20b%2Bc")
        #expect(request.headers["content-type"] == "text/plain")
        #expect(
            request.headers["x-amz-content-sha256"]
                == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
        #expect(request.headers["x-amz-checksum-sha256"] == "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=")
        #expect(request.headers["authorization"]?.contains("/20270115/us-east-1/s3/aws4_request") == true)
        await server.stop()
    }

    @Test func `over a protected connection the content of a put has only a checksum`() async throws {
        let server = ScriptedServer(ScriptedServer.stored)
        let store = try await server.store(integrity: .crc32c)
        // The check value of the CRC of RFC 3720, 0xE3069283.
        try await store.put(key, Array("123456789".utf8))
        let request = try #require(server.seen.first)
        #expect(request.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(request.headers["x-amz-checksum-crc32c"] == "4waSgw==")
        #expect(request.headers["x-amz-checksum-sha256"] == nil)
        #expect(request.headers["authorization"]?.contains("x-amz-checksum-crc32c") == true)
        await server.stop()
    }

    @Test(arguments: [
        (404, "NoSuchBucket", ObjectStorageError.Code.unavailable), (403, "AccessDenied", .permission),
        (403, "SignatureDoesNotMatch", .permission), (403, "InvalidAccessKeyId", .permission),
        (503, "SlowDown", .transient),
        (500, "InternalError", .transient), (429, "TooManyRequests", .transient), (400, "RequestTimeout", .transient),
        (400, "BadDigest", .transient), (507, "InsufficientStorage", .full), (403, "QuotaExceeded", .full),
        (400, "EntityTooLarge", .invalid), (501, "NotImplemented", .invalid), (301, "PermanentRedirect", .invalid),
        (409, "SomethingNew", .unavailable),
    ])
    func `a refusal is understood`(status: Int, code: String, expected: ObjectStorageError.Code) async throws {
        let server = ScriptedServer(ScriptedServer.error(HTTPStatus(rawValue: status), code))
        let store = try await server.store()
        #expect(await self.code { try await store.put(key, [1]) } == expected)
        #expect(server.seen.count == 1)
        await server.stop()
    }

    @Test func `a server that requests a delay gets it`() async throws {
        let server = ScriptedServer(
            ScriptedServer.error(.serviceUnavailable, "SlowDown", headers: ["Retry-After": "7"]), ScriptedServer.stored)
        let store = try await server.store()
        let waits = Mutex<[Duration]>([])
        try await RetryingObjectStore(store, sleep: { wait in waits.withLock { $0.append(wait) } }).put(key, [1])
        #expect(waits.withLock { $0 } == [.seconds(7)])
        await server.stop()
    }

    @Test func `a proxy that accepts no chunk is distinguished from a store that accepts no object`() async throws {
        let server = ScriptedServer(
            ScriptedServer.page(.contentTooLarge),
            ScriptedServer.error(.contentTooLarge, "EntityTooLarge"))
        let store = try await server.store()
        let proxy = await #expect(throws: ObjectStorageError.self) { try await store.put(key, [1]) }
        #expect(proxy?.code == .transient && proxy?.message.contains("raise its limit") == true)
        let refusal = await #expect(throws: ObjectStorageError.self) { try await store.put(key, [1]) }
        #expect(refusal?.code == .invalid)
        await server.stop()
    }

    @Test(arguments: [200, 302, 403, 404, 511])
    func `a sign-in page is never taken for an answer`(status: Int) async throws {
        let server = ScriptedServer(ScriptedServer.page(HTTPStatus(rawValue: status)))
        let store = try await server.store()
        #expect(await code { try await store.put(key, [1]) }?.isTransient ?? false || status == 403)
        #expect(await code { _ = try await store.read(key, limit: 1000) }?.isTransient ?? false || status == 403)
        #expect(await code { _ = try await store.list(prefix: "", after: nil, limit: 10) } != nil)
        #expect(await code { try await store.delete(key) } != nil)
        #expect(
            await code { if try await store.head(key) == nil, status != 404 { Issue.record("a head was believed") } }
                != nil || status == 404)
        await server.stop()
    }

    @Test func `a clock that is wrong is corrected by the server's, and stays so`() async throws {
        // Every response of the server contains the time of its clock.
        let server = ScriptedServer(
            ScriptedServer.error(.forbidden, "RequestTimeTooSkewed"), ScriptedServer.stored)
        let store = try await server.store(now: { 4_000_000_000 })
        try await store.put(key, [1])
        try await store.put(key, [1])
        let dates = server.seen.map { $0.headers["x-amz-date"]?.prefix(8) }
        #expect(dates.count == 3)
        #expect(dates.first == "20961002")
        #expect(dates.dropFirst().allSatisfy { $0 != nil && $0 != "20961002" })
        await server.stop()
    }

    @Test func `a clock that stays wrong ends in an error that may pass, after one try`() async throws {
        let server = ScriptedServer(ScriptedServer.error(.forbidden, "RequestTimeTooSkewed"))
        let store = try await server.store()
        #expect(await code { try await store.put(key, [1]) } == .transient)
        #expect(server.seen.count == 2)
        await server.stop()
    }

    @Test func `expired keys are renewed, once`() async throws {
        let calls = Mutex(0)
        let provider: S3Credentials.Provider = {
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            return S3Credentials(accessKey: "K\(number)", secretKey: "S", sessionToken: "T\(number)")
        }
        let server = ScriptedServer(ScriptedServer.error(.badRequest, "ExpiredToken"), ScriptedServer.stored)
        let store = try await server.store(credentials: provider)
        try await store.put(key, [1])
        try await store.put(key, [2])
        #expect(server.seen.map { $0.headers["x-amz-security-token"] } == ["T1", "T2", "T2"])
        #expect(calls.withLock { $0 } == 2)
        await server.stop()
    }

    @Test func `credentials are renewed before they expire, once for all requests`() async throws {
        let clock = Mutex<Int64>(1_000_000)
        let calls = Mutex(0)
        let server = ScriptedServer(ScriptedServer.stored)
        let store = try await server.store(now: { clock.withLock { $0 } }) {
            calls.withLock { $0 += 1 }
            await Task.yield()
            return S3Credentials(accessKey: "K", secretKey: "S", expires: clock.withLock { $0 } + 3600)
        }
        try await withThrowingTaskGroup { [key] group in
            for _ in 0..<10 { group.addTask { try await store.put(key, [1]) } }
            try await group.waitForAll()
        }
        #expect(calls.withLock { $0 } == 1)
        clock.withLock { $0 += 3400 }
        try await store.put(key, [1])
        #expect(calls.withLock { $0 } == 2)
        await server.stop()
    }

    @Test func `a server that is not there is a passing trouble`() async throws {
        let server = ScriptedServer(ScriptedServer.stored)
        let store = try await server.store()
        await server.stop()
        #expect(await code { try await store.put(key, [1]) } == .transient)
    }

    @Test func `a response with another range is refused`() async throws {
        let server = ScriptedServer(
            { _ in HTTPResponse(.ok, headers: ["ETag": "\"e\""], body: .text("whole object")) },
            { _ in
                HTTPResponse(
                    .partialContent, headers: ["ETag": "\"e\"", "Content-Range": "bytes 0-2/12"], body: .text("who"))
            },
            { _ in
                HTTPResponse(
                    .partialContent, headers: ["ETag": "\"e\"", "Content-Range": "bytes 3-5/12"], body: .text("le "))
            })
        let store = try await server.store()
        #expect(await code { _ = try await store.get(key, range: 3..<6) } != nil)
        #expect(await code { _ = try await store.get(key, range: 3..<6) } != nil)
        let part = try await store.get(key, range: 3..<6)
        #expect(part.info.size == 12)
        #expect(try await part.collect(limit: 10) == Array("le ".utf8))
        await server.stop()
    }

    @Test func `errors name the key and carry no secret`() async throws {
        let server = ScriptedServer(ScriptedServer.error(.forbidden, "AccessDenied"))
        let store = try await server.store(credentials: { S3Credentials(accessKey: "A", secretKey: "hush") })
        do {
            try await store.put(key, Array("contents".utf8))
            Issue.record("the put went through")
        } catch {
            #expect("\(error)".contains(key.text))
            #expect(!"\(error)".contains("hush") && !"\(error)".contains("contents"))
        }
        await server.stop()
    }

    private static let endpoint = getenv("FERRY_TEST_S3").map { String(cString: $0) }

    /// Tests with a real server: FERRY_TEST_S3=http://127.0.0.1:5000, a bucket `ferry-test`,
    /// credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    @Test(
        .enabled(if: endpoint != nil, "FERRY_TEST_S3 names no server"), arguments: ObjectStoreContract.all,
        [S3Configuration.Integrity.sha256, .crc32c])
    func `S3 store`(contract: ObjectStoreContract, integrity: S3Configuration.Integrity) async throws {
        var configuration = try S3Configuration(endpoint: Self.endpoint ?? "", bucket: "ferry-test")
        configuration.integrity = integrity
        configuration.usesArchives = integrity == .crc32c
        let keys = try #require(S3Credentials.fromEnvironment())
        let store = RetryingObjectStore(S3ObjectStore(configuration) { keys })
        let prefix = "run-\(UInt64.random(in: 0 ... .max))/"
        try await contract.run(on: store, prefix: prefix)
    }

    @Test(.enabled(if: endpoint != nil, "FERRY_TEST_S3 names no server"))
    func `a presigned URL works without credentials`() async throws {
        let keys = try #require(S3Credentials.fromEnvironment())
        let store = S3ObjectStore(try S3Configuration(endpoint: Self.endpoint ?? "", bucket: "ferry-test")) { keys }
        let key = try ObjectKey("run-\(UInt64.random(in: 0 ... .max))/a b+c/é")
        let client = HTTPClient()
        let put = HTTPRequest(.put, try await store.presignedURL(.put, key), body: .bytes(Array("hello".utf8)))
        #expect(try await client.send(put).status == .ok)
        let get = HTTPRequest(.get, try await store.presignedURL(.get, key, expires: .seconds(60)))
        #expect(try await client.send(get).body.collect(limit: 100) == Array("hello".utf8))
        #expect(try await store.read(key, limit: 100) == Array("hello".utf8))
        for expires in [Duration.zero, .milliseconds(999), .seconds(604_801)] {
            #expect(await code { _ = try await store.presignedURL(.get, key, expires: expires) } == .invalid)
        }
    }
}
