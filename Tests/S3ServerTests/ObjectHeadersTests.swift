import BucketStore
import HTTPMessages
import Testing

@testable import S3Server

struct ObjectHeadersTests {
    @Test(
        arguments: [
            ("bytes=0-0", 0..<1), ("bytes=2-4", 2..<5), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10),
            ("bytes=-30", 0..<10),
            ("bytes=0-9223372036854775807", 0..<10), ("bytes=9-9", 9..<10),
        ] as [(String, Range<Int64>)])
    func `a range is cut to the object`(header: String, expected: Range<Int64>) throws {
        #expect(try ObjectHeaders.range(header, size: 10) == expected)
    }

    @Test(arguments: ["bytes=10-", "bytes=10-20", "bytes=-0"])
    func `a range outside of the object is an error`(header: String) {
        #expect(throws: S3Error.self) { try ObjectHeaders.range(header, size: 10) }
    }

    @Test func `an empty object has no range`() {
        #expect(throws: S3Error.self) { try ObjectHeaders.range("bytes=0-", size: 0) }
        #expect(throws: S3Error.self) { try ObjectHeaders.range("bytes=-1", size: 0) }
    }

    /// Checks that a malformed or unsupported range is ignored (RFC 9110 section 14.2).
    @Test(arguments: [
        nil, "", "bytes", "bytes=", "bytes=a-b", "bytes=4-2", "bytes=0-1,3-4", "lines=0-1", "bytes=--1", "bytes=0-1-2",
        "bytes=99999999999999999999-", "bytes=-",
    ])
    func `a malformed range is ignored`(header: String?) throws {
        #expect(try ObjectHeaders.range(header, size: 10) == nil)
    }

    private let record = ObjectRecord(
        key: "k", file: "f", size: 3, etag: "abc", modified: 1_369_353_600_500_000, contentType: "t", headers: [:])

    @Test func `conditions are judged as RFC 9110 orders them`() {
        let time = "Fri, 24 May 2013 00:00:00 GMT"
        let earlier = "Thu, 23 May 2013 00:00:00 GMT"
        let cases: [(HTTPHeaders, HTTPStatus?)] = [
            ([:], nil), (["If-Match": "\"abc\""], nil), (["If-Match": "\"x\", \"abc\""], nil), (["If-Match": "*"], nil),
            (["If-Match": "\"x\""], .preconditionFailed), (["If-None-Match": "\"abc\""], .notModified),
            (["If-None-Match": "W/\"abc\""], .notModified), (["If-None-Match": "\"x\""], nil),
            (["If-Modified-Since": time], .notModified), (["If-Modified-Since": earlier], nil),
            (["If-Unmodified-Since": time], nil), (["If-Unmodified-Since": earlier], .preconditionFailed),
            (["If-Match": "\"abc\"", "If-Unmodified-Since": earlier], nil),
            (["If-None-Match": "\"x\"", "If-Modified-Since": time], nil), (["If-Modified-Since": "nonsense"], nil),
        ]
        for (headers, expected) in cases {
            #expect(ObjectHeaders.check(headers, against: record) == expected, "\(headers.map(\.value))")
        }
    }

    @Test func `metadata is kept up to 2 KiB`() throws {
        let kept = try ObjectHeaders.keep([
            "Content-Type": "text/plain", "X-Amz-Meta-A": "1", "x-amz-meta-a": "2",
            "Content-Encoding": "aws-chunked, gzip",
            "Authorization": "secret", "x-amz-date": "x",
        ])
        #expect(kept.type == "text/plain")
        #expect(kept.headers == ["x-amz-meta-a": "1,2", "content-encoding": "gzip"])
        #expect(throws: S3Error.self) {
            try ObjectHeaders.keep(["x-amz-meta-a": String(repeating: "x", count: 2048)])
        }
    }
}
