import Cryptography
import HTTPMessages
import Testing

@testable import ObjectStorage

@Suite struct S3SignatureTests {
    // "Signature Calculations for the Authorization Header: Transferring Payload in a Single
    // Chunk", Amazon S3 API Reference.
    private let keys = S3Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    private func authorization(
        _ method: HTTPMethod, path: String, query: [(String, String)] = [], headers: HTTPHeaders = [:],
        body: String = ""
    ) -> String? {
        S3Signature(credentials: keys, region: "us-east-1", time: 1_369_353_600).sign(
            method: method, host: "examplebucket.s3.amazonaws.com", path: path, query: query, headers: headers,
            payload: .signed(SHA256.hash(body)))["Authorization"]
    }

    @Test func `Amazon's examples have Amazon's signatures`() {
        #expect(
            authorization(.get, path: "/test.txt", headers: ["range": "bytes=0-9"])
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        let put = authorization(
            .put, path: "/test%24file.text",
            headers: ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
            body: "Welcome to Amazon S3.")
        #expect(put?.hasSuffix("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd") == true)
        let lifecycle = authorization(.get, path: "/", query: [("lifecycle", "")])
        #expect(lifecycle?.hasSuffix("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543") == true)
        let list = authorization(.get, path: "/", query: [("prefix", "J"), ("max-keys", "2")])
        #expect(list?.hasSuffix("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") == true)
    }

    // "Authenticating Requests: Using Query Parameters", Amazon S3 API Reference.
    @Test func `a presigned URL has Amazon's signature`() {
        let query = S3Signature(credentials: keys, region: "us-east-1", time: 1_369_353_600).presign(
            method: .get, host: "examplebucket.s3.amazonaws.com", path: "/test.txt", expires: 86400)
        #expect(
            query
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2F"
                + "aws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
                + "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test func `a session token is sent and signed`() {
        let keys = S3Credentials(accessKey: "A", secretKey: "S", sessionToken: "T")
        let headers = S3Signature(credentials: keys, region: "r", time: 0).sign(
            method: .get, host: "h", path: "/", query: [], headers: [:], payload: .signed(SHA256.hash("")))
        #expect(headers["x-amz-security-token"] == "T")
        #expect(headers["Authorization"]?.contains("x-amz-date;x-amz-security-token") == true)
        #expect(headers["host"] == nil)
    }

    @Test func `an endpoint gives host and path in either style`() throws {
        let path = try S3Configuration(endpoint: "http://127.0.0.1:7441/objects/", bucket: "ferry")
        #expect(path.host == "127.0.0.1:7441" && path.path == "/objects/ferry" && !path.isSecure)
        let plain = try S3Configuration(endpoint: "https://s3.example.com:443", bucket: "ferry")
        #expect(plain.host == "s3.example.com" && plain.path == "/ferry" && plain.isSecure)
        let virtual = try S3Configuration(endpoint: "https://s3.example.com", bucket: "ferry", addressing: .virtualHost)
        #expect(virtual.host == "ferry.s3.example.com" && virtual.path == "")
        for (endpoint, guardsWay) in [
            ("http://127.0.0.1:7441", true), ("http://[::1]:80", true), ("http://localhost", true),
            ("https://example.com", true), ("http://example.com", false), ("http://127.0.0.1.example.com", false),
            ("http://localhost.example.com:7441", false), ("http://10.0.0.1", false),
        ] {
            #expect(try S3Configuration(endpoint: endpoint, bucket: "ferry").guardsWay == guardsWay, "\(endpoint)")
        }
        for endpoint in ["", "s3.example.com", "ftp://x", "http://", "http://user@host", "http://host?x", "http://a b"]
        {
            #expect(throws: ObjectStorageError.self) { try S3Configuration(endpoint: endpoint, bucket: "ferry") }
        }
        for bucket in ["", "ab", "Ferry", "a/b", "a?b", String(repeating: "b", count: 64)] {
            #expect(throws: ObjectStorageError.self) { try S3Configuration(endpoint: "http://h", bucket: bucket) }
        }
    }
}
