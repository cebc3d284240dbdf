import Cryptography
import HTTPMessages
import HTTPServer
import Testing

@testable import S3Server

/// Amazon's published examples ("Examples: Signature Calculations in AWS Signature Version 4", Amazon S3
/// API Reference).
struct SignatureTests {
    private static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    /// The time of the examples, 2013-05-24T00:00:00Z.
    private static let then: Int64 = 1_369_353_600

    private func signatures(now: Int64 = then) -> SignatureV4 {
        SignatureV4(
            OneKey(accessKey: "AKIAIOSFODNN7EXAMPLE", credential: S3Credential(secretKey: Self.secret, prefix: nil)),
            now: { now })
    }

    private func request(
        _ method: HTTPMethod, _ target: String, _ signature: String, signed: String, _ extra: HTTPHeaders = [:],
        hash: String = empty
    ) throws -> HTTPServerRequest {
        var headers = extra
        headers["Host"] = extra["Host"] ?? "examplebucket.s3.amazonaws.com"
        headers["x-amz-date"] = "20130524T000000Z"
        headers["x-amz-content-sha256"] = hash
        headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            + "SignedHeaders=\(signed),Signature=\(signature)"
        return HTTPServerRequest(method, try #require(HTTPTarget(target)), headers: headers)
    }

    private func code(_ request: HTTPServerRequest, now: Int64 = then) async -> String? {
        do {
            _ = try await signatures(now: now).authenticate(request)
            return nil
        } catch {
            return (error as? S3Error)?.code ?? "\(error)"
        }
    }

    private func getObject(_ target: String = "/test.txt", range: String = "bytes=0-9") throws -> HTTPServerRequest {
        try request(
            .get, target, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            signed: "host;range;x-amz-content-sha256;x-amz-date", ["Range": range])
    }

    @Test func `Amazon's example of getting an object is accepted`() async throws {
        #expect(await code(try getObject()) == nil)
    }

    @Test func `Amazon's example of putting an object is accepted`() async throws {
        let put = try request(
            .put, "/test$file.text", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            signed: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
            hash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
        #expect(await code(put) == nil)
    }

    @Test func `Amazon's examples with queries are accepted`() async throws {
        let signed = "host;x-amz-content-sha256;x-amz-date"
        let lifecycle = try request(
            .get, "/?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", signed: signed)
        #expect(await code(lifecycle) == nil)
        let list = try request(
            .get, "/?max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            signed: signed)
        #expect(await code(list) == nil)
    }

    private func presigned(_ path: String = "/test.txt", expires: Int = 86_400) throws -> HTTPServerRequest {
        let target =
            "\(path)?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=\(expires)&X-Amz-SignedHeaders=host"
            + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        return HTTPServerRequest(
            .get, try #require(HTTPTarget(target)), headers: ["Host": "examplebucket.s3.amazonaws.com"])
    }

    @Test func `Amazon's example of a presigned URL is accepted until it expires`() async throws {
        #expect(await code(try presigned()) == nil)
        #expect(await code(try presigned(), now: Self.then + 86_400) == nil)
        #expect(await code(try presigned(), now: Self.then + 86_401) == "AccessDenied")
        #expect(await code(try presigned(), now: Self.then - 1000) == "RequestTimeTooSkewed")
    }

    @Test func `signed parts cannot be changed`() async throws {
        #expect(await code(try getObject("/test2.txt")) == "SignatureDoesNotMatch")
        #expect(await code(try getObject("/test.txt?versionId=1")) == "SignatureDoesNotMatch")
        #expect(await code(try getObject(range: "bytes=0-99")) == "SignatureDoesNotMatch")
        #expect(await code(try presigned("/other.txt")) == "SignatureDoesNotMatch")
        #expect(await code(try presigned(expires: 86_401)) == "SignatureDoesNotMatch")
        let other = try getObject()
        let head = HTTPServerRequest(.head, other.target, headers: other.headers)
        #expect(await code(head) == "SignatureDoesNotMatch")
    }

    @Test func `an unsigned Amazon header is refused`() async throws {
        let other = try getObject()
        var headers = other.headers
        headers["x-amz-copy-source"] = "/bucket/secret"
        #expect(await code(HTTPServerRequest(.get, other.target, headers: headers)) == "AccessDenied")
    }

    @Test func `a request is valid for 15 minutes`() async throws {
        #expect(await code(try getObject(), now: Self.then + 900) == nil)
        #expect(await code(try getObject(), now: Self.then + 901) == "RequestTimeTooSkewed")
        #expect(await code(try getObject(), now: Self.then - 901) == "RequestTimeTooSkewed")
    }

    /// Returns Amazon's example of a URL with Signature Version 2 ("Query string request
    /// authentication alternative").
    private func presigned2(
        _ method: HTTPMethod = .get, _ query: String = "", path: String = "/johnsmith/photos/puppy.jpg",
        _ headers: HTTPHeaders = [:], signature: String = "NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D"
    ) throws -> HTTPServerRequest {
        let target = "\(path)?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=\(signature)&Expires=1175139620\(query)"
        return HTTPServerRequest(method, try #require(HTTPTarget(target)), headers: headers)
    }

    @Test func `Amazon's example of a URL with Version 2 is accepted until it expires, a week before that at most`()
        async throws
    {
        #expect(await code(try presigned2(), now: 1_175_139_620) == nil)
        #expect(await code(try presigned2(), now: 1_175_139_621) == "AccessDenied")
        #expect(await code(try presigned2(), now: 1_175_139_620 - 604_800) == nil)
        #expect(await code(try presigned2(), now: 1_175_139_620 - 604_801) == "AccessDenied")
    }

    @Test func `nothing can be changed in a URL with Version 2, or added`() async throws {
        let now: Int64 = 1_175_139_000
        let wrong = "SignatureDoesNotMatch"
        #expect(await code(try presigned2(.put), now: now) == wrong)
        #expect(await code(try presigned2(path: "/johnsmith/photos/kitten.jpg"), now: now) == wrong)
        #expect(await code(try presigned2(signature: "AAAA"), now: now) == wrong)
        #expect(await code(try presigned2(signature: "%25"), now: now) == wrong)
        for query in [
            "&uploads", "&acl", "&versionId=null", "&x-amz-acl=private", "&response-content-type=a", "&content-type=a",
        ] {
            #expect(await code(try presigned2(.get, query), now: now) == wrong, "\(query)")
        }
        #expect(await code(try presigned2(.get, "", ["x-amz-copy-source": "/b/k"]), now: now) == wrong)
        #expect(await code(try presigned2(.get, "", ["Content-Type": "text/plain"]), now: now) == wrong)
        for query in ["&attributes", "&x-ferry-archive", "&prefix=a", "&list-type=2"] {
            #expect(await code(try presigned2(.get, query), now: now) == "AccessDenied", "\(query)")
        }
        #expect(await code(try presigned2(.get, "&content-type=a%0Ab"), now: now) == "InvalidArgument")
        #expect(await code(try presigned2(.get, "&x-id=GetObject", ["Range": "bytes=0-1"]), now: now) == nil)
    }

    @Test func `a form with Version 2 is accepted until its policy expires`() async throws {
        let fields = [
            "awsaccesskeyid": "AKIAIOSFODNN7EXAMPLE",
            "signature": Base64.encode(HMACSHA1.authenticate("cG9saWN5", key: Self.secret)),
        ]
        let signatures = signatures(now: Self.then)
        func code(_ policy: String, expires: Int64) async -> String? {
            do {
                _ = try await signatures.authenticate(form: fields, policy: policy, expires: expires)
                return nil
            } catch {
                return (error as? S3Error)?.code
            }
        }
        #expect(await code("cG9saWN5", expires: Self.then + 60) == nil)
        #expect(await code("cG9saWN6", expires: Self.then + 60) == "SignatureDoesNotMatch")
        #expect(await code("cG9saWN5", expires: Self.then - 1) == "AccessDenied")
        #expect(await code("cG9saWN5", expires: Self.then + 604_801) == "AccessDenied")
    }

    @Test(arguments: [
        "", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=a,SignedHeaders=,Signature=", "Basic YTpi",
        "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request,SignedHeaders=host,Signature=x",
        "AWS4-HMAC-SHA256 Credential=/20130524/us-east-1/s3/aws4_request,SignedHeaders=host,Signature=x",
        "AWS4-HMAC-SHA256 =,=,=", "AWS AKIA:sig",
    ])
    func `a malformed header is refused`(header: String) async throws {
        let request = HTTPServerRequest(
            .get, try #require(HTTPTarget("/a")), headers: ["Host": "h", "Authorization": header])
        #expect(await code(request) != nil)
    }

    @Test func `a request without a signature is refused`() async throws {
        let request = HTTPServerRequest(.get, try #require(HTTPTarget("/ferry/a")), headers: ["Host": "h"])
        #expect(await code(request) == "AccessDenied")
    }
}
