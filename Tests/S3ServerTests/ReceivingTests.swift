import BucketStore
import HTTPMessages
import HTTPServer
import Testing

@testable import S3Server

struct ReceivingTests {
    private func isSmall(_ headers: HTTPHeaders, _ body: HTTPBody) throws -> Bool {
        let credential = S3Credential(secretKey: "", prefix: nil)
        return S3Call(
            request: HTTPServerRequest(.put, try #require(HTTPTarget("/b/k")), headers: headers, body: body),
            authentication: AuthenticatedRequest(credential: credential, payload: .unsigned), bucket: "b", key: "k"
        ).isSmall
    }

    @Test func `only a body whose length is known and small waits in memory until it is whole`() throws {
        let limit = Int(SegmentPlace.sizeLimit)
        #expect(try isSmall([:], .none))
        #expect(try isSmall([:], .stream(length: limit) { nil }))
        #expect(try !isSmall([:], .stream(length: limit + 1) { nil }))
        // A chunked body, with a Content-Length that must be ignored.
        #expect(try !isSmall(["Content-Length": "10"], .stream { nil }))
    }
}
