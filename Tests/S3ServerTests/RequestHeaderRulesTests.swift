import HTTPMessages
import HTTPServer
import Testing

@testable import S3Server

struct RequestHeaderRulesTests {
    private static func code(_ name: String, _ value: String) -> String? {
        do throws(S3Error) {
            try RequestHeaderRules.check([name: value])
            return nil
        } catch {
            return error.code
        }
    }

    @Test(
        arguments: [
            ("x-amz-acl", "private", nil), ("x-amz-acl", "bucket-owner-full-control", nil),
            ("x-amz-acl", "public-read", "AccessControlListNotSupported"),
            ("X-Amz-Acl", "Authenticated-Read", "AccessControlListNotSupported"),
            ("x-amz-grant-read", "id=1", "AccessControlListNotSupported"),
            ("x-amz-storage-class", "STANDARD", nil), ("x-amz-storage-class", "GLACIER", "InvalidStorageClass"),
            ("x-amz-expected-bucket-owner", "000000000000", nil),
            ("x-amz-expected-bucket-owner", "111111111111", "AccessDenied"),
            ("x-amz-source-expected-bucket-owner", "111111111111", "AccessDenied"),
            ("x-amz-bucket-object-lock-enabled", "true", "NotImplemented"),
            ("x-amz-bucket-object-lock-enabled", "False", nil),
            ("x-amz-object-ownership", "BucketOwnerEnforced", nil),
            ("x-amz-object-ownership", "ObjectWriter", "NotImplemented"),
            ("x-amz-tagging", "a=b", "NotImplemented"), ("x-amz-tagging", "", nil),
            ("x-amz-write-offset-bytes", "0", "NotImplemented"),
            ("x-amz-website-redirect-location", "/", "NotImplemented"),
            ("x-amz-server-side-encryption", "AES256", "NotImplemented"),
            ("x-amz-server-side-encryption-customer-key", "k", "NotImplemented"),
            ("x-amz-copy-source-server-side-encryption-customer-key", "k", "NotImplemented"),
            ("x-amz-object-lock-mode", "GOVERNANCE", "NotImplemented"),
            ("x-amz-object-lock-legal-hold", "ON", "NotImplemented"),
            ("x-amz-rename-source", "/b/k", "NotImplemented"), ("x-amz-fwd-status", "200", "NotImplemented"),
            ("x-amz-checksum-sha512", "x", "NotImplemented"), ("x-amz-checksum-crc32", "x", nil),
            ("x-amz-trailer", "x-amz-checksum-crc32c", nil),
            ("x-amz-trailer", "x-amz-checksum-crc32, x-amz-checksum-md5", "NotImplemented"),
            ("x-amz-copy-source", "/b/k", nil), ("x-amz-meta-anything", "x", nil), ("x-amz-mfa", "1 2", nil),
            ("x-amz-request-payer", "requester", nil), ("x-amz-unheard-of", "x", "NotImplemented"),
            ("x-amzn-trace-id", "x", nil), ("x-other", "x", nil),
        ] as [(String, String, String?)])
    func `each header is honored, harmless or refused`(name: String, value: String, code: String?) {
        #expect(Self.code(name, value) == code)
    }

    @Test func `a refusal names the header`() {
        #expect {
            try RequestHeaderRules.check(["X-Amz-Tagging": "a=b"])
        } throws: { error in
            (error as? S3Error)?.message.contains("x-amz-tagging") == true
        }
    }

    @Test(arguments: [
        ("x-amz-date", true), ("X-AMZ-Date", true), ("x-amz-", true), ("x-amz", false), ("x-amzn-a", false),
        ("", false),
        ("X\rAMZ-a", false), ("x-amZ-a", true),
    ])
    func `names of Amazon's headers are recognized in any case`(name: String, isAmazons: Bool) {
        #expect(RequestHeaderRules.isAmazons(name) == isAmazons)
    }

    @Test
    func `parameters of the query count as headers, those of the signature and those that are headers already do not`()
        throws
    {
        let target = try #require(
            HTTPTarget(
                "/b/k?X-Amz-Date=d&X-Amz-Signature=s&x-amz-acl=public-read&X-Amz-Checksum-Mode=ENABLED&prefix=x&x-amz-meta-a=q"
            ))
        let request = HTTPServerRequest(.put, target, headers: ["X-Amz-Meta-A": "h"]).withHeadersOfQuery()
        #expect(request.headers["x-amz-acl"] == "public-read" && request.headers["x-amz-checksum-mode"] == "ENABLED")
        #expect(request.headers["x-amz-date"] == nil && request.headers["x-amz-signature"] == nil)
        #expect(request.headers.values("x-amz-meta-a") == ["h"] && request.headers["prefix"] == nil)
    }
}
