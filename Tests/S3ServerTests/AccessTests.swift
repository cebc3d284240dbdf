import BucketStore
import Cryptography
import HTTPMessages
import HTTPServer
import SystemTestKit
import Testing

@testable import ObjectStorage
@testable import S3Server

/// Tests of access to the objects of accounts. Requests are signed by the client of
/// `ObjectStorage`.
struct AccessTests {
    private static let now: Int64 = 1_795_219_200

    private struct Policy: ObjectAccessPolicy {
        func allowsReading(_ key: String, in bucket: String, byAccountAt prefix: String) -> Bool {
            key == "v/shared" && bucket == "data" && prefix == "u/"
        }

        func allowsBucket(named name: String) -> Bool { name != "reserved" }
    }

    private struct Quotas: ObjectQuotas {
        var isBusy = false

        func admit(_ account: String) -> Bool { !(isBusy && account == "u") }

        func requestsPerSecond(of account: String) -> Int64 { 7 }

        func objectBytes(of account: String) -> Int64 { 10 }
    }

    private let directory: TemporaryDirectory
    private let store: DirectoryBucketStore

    init() async throws {
        directory = try TemporaryDirectory()
        store = try DirectoryBucketStore(directory: "\(directory.path)/objects")
        _ = try await store.createBucket("data", now: 0)
        for key in ["u/own", "v/shared", "v/other"] {
            let bytes = Array("12345".utf8)
            let record = ObjectRecord(
                key: key, file: try await store.keep(bytes[...], SHA256.hash(bytes)), size: 5, etag: "e", modified: 0,
                contentType: "", headers: [:])
            _ = try await store.index.write { try $0.put(record, in: "data") }
        }
    }

    private func answer(
        _ method: HTTPMethod, _ path: String, prefix: String? = "u/", _ quotas: Quotas = Quotas(), body: String = ""
    ) async throws -> (status: HTTPStatus, text: String) {
        let handler = S3Handler(
            store: store,
            credentials: OneKey(accessKey: "K", credential: S3Credential(secretKey: "s", prefix: prefix)),
            policy: Policy(), quotas: quotas, now: { Self.now * 1_000_000 }, onError: { _ in })
        let signature = S3Signature(
            credentials: S3Credentials(accessKey: "K", secretKey: "s"), region: S3Protocol.region, time: Self.now)
        let query = signature.presign(method: method, host: "h", path: path, expires: 60)
        let response = await handler.respond(
            to: HTTPServerRequest(
                method, try #require(HTTPTarget("\(path)?\(query)")), headers: ["Host": "h"], body: .text(body)))
        return (response.status, String(decoding: try await response.body.collect(limit: 10_000), as: UTF8.self))
    }

    @Test func `an account reads its own objects and those that the policy allows`() async throws {
        #expect(try await answer(.get, "/data/u/own").text == "12345")
        #expect(try await answer(.get, "/data/v/shared").text == "12345")
        #expect(try await answer(.get, "/data/v/other").status == 403)
        #expect(try await answer(.get, "/elsewhere/v/shared").status == 403)
        #expect(try await answer(.delete, "/data/v/shared").status == 403)
        #expect(try await answer(.put, "/data/v/shared", body: "x").status == 403)
        #expect(try await answer(.get, "/data/v/shared", prefix: "w/").status == 403)
        #expect(try await answer(.get, "/data/v/other", prefix: nil).text == "12345")
    }

    @Test func `an account that makes too many requests is refused without affecting others`() async throws {
        let busy = Quotas(isBusy: true)
        let refused = try await answer(.get, "/data/u/own", busy)
        #expect(refused.status == 503 && refused.text.contains("<Code>SlowDown</Code>"), "\(refused)")
        #expect(refused.text.contains("may make 7 requests a second"))
        #expect(try await answer(.get, "/data/v/other", prefix: "v/", busy).status == .ok)
        #expect(try await answer(.get, "/data/u/own", prefix: nil, busy).status == .ok)
    }

    @Test func `an account keeps as many bytes as its quota allows`() async throws {
        #expect(try await answer(.put, "/data/u/more", body: "12345").status == .ok)
        let refused = try await answer(.put, "/data/u/one", body: "1")
        #expect(refused.status == 403 && refused.text.contains("QuotaExceeded"), "\(refused)")
        #expect(refused.text.contains("10 B of the 10 B"), "\(refused)")
        #expect(try await answer(.put, "/data/u/own", body: "1").status == .ok)
        #expect(try await answer(.put, "/data/u/one", body: "1").status == .ok)
    }

    @Test func `a bucket cannot have the name of another path of the server`() async throws {
        #expect(try await answer(.put, "/reserved", prefix: nil).text.contains("InvalidBucketName"))
        #expect(try await answer(.put, "/another", prefix: nil).status == .ok)
        #expect(try await answer(.put, "/third").status == 403)
    }
}
