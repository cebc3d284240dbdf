import BucketStore
import HTTPMessages
import Testing
import XML

@testable import S3Server

struct WriteConditionsTests {
    /// An object of 2026-11-21T12:00:00Z and a fraction of a second.
    private static let present = ObjectRecord(
        key: "k", file: "", size: 3, etag: "e", modified: 1_795_262_400_500_000, contentType: "", headers: [:])

    private static func codes(_ headers: HTTPHeaders) -> [String?] {
        func code(_ body: (WriteConditions) throws(S3Error) -> Void) -> String? {
            do throws(S3Error) {
                try body(try WriteConditions(headers))
                return nil
            } catch {
                return error.code
            }
        }
        return [
            code { conditions throws(S3Error) in try conditions.checkPut(over: present) },
            code { conditions throws(S3Error) in try conditions.checkPut(over: nil) },
            code { conditions throws(S3Error) in try conditions.checkDelete(of: present) },
        ]
    }

    private static let failed = "PreconditionFailed"

    @Test(
        arguments: [
            ([:], [nil, nil, nil]),
            (["If-Match": "\"e\""], [nil, "NoSuchKey", nil]),
            (["If-Match": "e"], [nil, "NoSuchKey", nil]),
            (["If-Match": "*"], [nil, "NoSuchKey", nil]),
            (["If-Match": "\"x\", \"e\""], [nil, "NoSuchKey", nil]),
            (["If-Match": "\"x\""], [failed, "NoSuchKey", failed]),
            (["If-None-Match": "*"], [failed, nil, failed]),
            (["If-None-Match": "\"e\""], [failed, nil, failed]),
            (["If-None-Match": "\"x\""], [nil, nil, nil]),
            (["If-Unmodified-Since": "Sat, 21 Nov 2026 12:00:00 GMT"], [nil, nil, nil]),
            (["If-Unmodified-Since": "Sat, 21 Nov 2026 11:59:59 GMT"], [failed, nil, failed]),
            (["If-Unmodified-Since": "yesterday"], [nil, nil, nil]),
            (["If-Match": "e", "If-Unmodified-Since": "Sat, 21 Nov 2026 11:59:59 GMT"], [nil, "NoSuchKey", nil]),
            (["x-amz-if-match-size": "3"], [nil, "NoSuchKey", nil]),
            (["x-amz-if-match-size": "4"], [failed, "NoSuchKey", failed]),
            (["x-amz-if-match-size": "many"], ["InvalidArgument", "InvalidArgument", "InvalidArgument"]),
            (["x-amz-if-match-last-modified-time": "Sat, 21 Nov 2026 12:00:00 GMT"], [nil, "NoSuchKey", nil]),
            (["x-amz-if-match-last-modified-time": "2026-11-21T12:00:01Z"], [failed, "NoSuchKey", failed]),
        ] as [(HTTPHeaders, [String?])])
    func `a put over an object, one over nothing, and a delete`(headers: HTTPHeaders, codes: [String?]) {
        #expect(Self.codes(headers) == codes)
    }

    @Test(
        arguments: [
            ("", nil), ("<ETag>\"e\"</ETag>", nil), ("<ETag>\"0\"</ETag>", failed), ("<Size>3</Size>", nil),
            ("<Size>999</Size>", failed), ("<LastModifiedTime>2026-11-21T12:00:00Z</LastModifiedTime>", nil),
            ("<LastModifiedTime>Sat, 21 Nov 2026 12:00:01 GMT</LastModifiedTime>", failed),
            ("<LastModifiedTime>soon</LastModifiedTime>", "InvalidArgument"),
        ] as [(String, String?)])
    func `each object of DeleteObjects has conditions of its own`(conditions: String, code: String?) throws {
        let object = try XMLElement(parsing: Array("<Object><Key>k</Key>\(conditions)</Object>".utf8))
        do throws(S3Error) {
            try WriteConditions(deleting: object).checkDelete(of: Self.present)
            #expect(code == nil)
        } catch {
            #expect(error.code == code)
        }
    }

    @Test func `operations that have no conditions refuse them by name`() {
        #expect(throws: S3Error.self) { try WriteConditions.refuse(in: ["If-None-Match": "*"], of: "a part") }
        #expect(throws: Never.self) { try WriteConditions.refuse(in: ["If-Modified-Since": "x"], of: "a part") }
    }
}
