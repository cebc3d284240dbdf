import HTTPMessages
import Testing

@testable import S3Server

/// Amazon's published examples of `aws-chunked` ("Signature Calculations: Transferring Payload in
/// Multiple Chunks", with and without trailing headers, Amazon S3 API Reference): 66,560 times the
/// letter a.
struct ChunkedBodyTests {
    private static func signer(seed: String) -> ChunkSigner {
        let scope = "20130524/us-east-1/s3/aws4_request"
        let key = SigningKeys().key(secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope: scope)
        return ChunkSigner(key: key, seed: seed, date: "20130524T000000Z", scope: scope)
    }

    private static let letters = (
        large: String(repeating: "a", count: 65_536), small: String(repeating: "a", count: 1024)
    )

    private static let plain =
        "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n\(letters.large)\r\n"
        + "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n\(letters.small)\r\n"
        + "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"

    private static let trailing =
        "10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\r\n\(letters.large)\r\n"
        + "400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7\r\n\(letters.small)\r\n"
        + "0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n"
        + "x-amz-checksum-crc32c:sOO8/Q==\r\n"
        + "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n"

    private static let plainSeed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
    private static let trailingSeed = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"

    /// Returns a body that arrives in pieces of that size.
    private func body(_ text: String, pieces: Int = .max) -> HTTPBody {
        let bytes = Array(text.utf8)
        return .stream(
            AsyncStream { stream in
                var rest = bytes[...]
                while !rest.isEmpty {
                    stream.yield(Array(rest.prefix(pieces)))
                    rest = rest.dropFirst(pieces)
                }
                stream.finish()
            })
    }

    private func read(_ chunked: consuming ChunkedBody) async throws -> (bytes: [UInt8], trailer: [String: String]) {
        var chunked = chunked
        var bytes: [UInt8] = []
        while let chunk = try await chunked.next() { bytes += chunk }
        return (bytes, chunked.trailer)
    }

    @Test(arguments: [1, 7, 4096, Int.max])
    func `Amazon's signed chunks are decoded for any split of their bytes`(pieces: Int) async throws {
        let result = try await read(
            ChunkedBody(body(Self.plain, pieces: pieces), signer: Self.signer(seed: Self.plainSeed), hasTrailer: false))
        #expect(result.bytes == Array(repeating: UInt8(ascii: "a"), count: 66_560))
    }

    @Test func `Amazon's signed trailer is decoded`() async throws {
        let result = try await read(
            ChunkedBody(body(Self.trailing), signer: Self.signer(seed: Self.trailingSeed), hasTrailer: true))
        #expect(result.bytes.count == 66_560)
        #expect(result.trailer == ["x-amz-checksum-crc32c": "sOO8/Q=="])
    }

    @Test func `a changed byte, chunk order or trailer is found`() async throws {
        let changes = [
            (Self.plain.replacing("\r\naa", with: "\r\nba", maxReplacements: 1), Self.plainSeed, false),
            (Self.plain.replacing("400;chunk-signature=00", with: "400;chunk-signature=01"), Self.plainSeed, false),
            (Self.plain, Self.trailingSeed, false),
            (Self.trailing.replacing("sOO8", with: "tOO8"), Self.trailingSeed, true),
            (
                Self.trailing.replacing("x-amz-trailer-signature:d8", with: "x-amz-trailer-signature:d9"),
                Self.trailingSeed, true
            ),
        ]
        for (number, (text, seed, hasTrailer)) in changes.enumerated() {
            await #expect(throws: S3Error.self, "change \(number)") {
                _ = try await read(ChunkedBody(body(text), signer: Self.signer(seed: seed), hasTrailer: hasTrailer))
            }
        }
    }

    @Test func `trailers without end are refused, also those of one name`() async throws {
        for name in ["a", "x-amz-trailer-signature", ""] {
            let line = "\(name):\(String(repeating: "b", count: 1000))\r\n"
            let trailers = String(repeating: line, count: 7)
            _ = try await read(ChunkedBody(body("0\r\n\(trailers)\r\n"), signer: nil, hasTrailer: true))
            await #expect(throws: S3Error.self) {
                _ = try await read(ChunkedBody(body("0\r\n\(trailers)\(trailers)"), signer: nil, hasTrailer: true))
            }
        }
    }

    @Test func `a body that breaks off anywhere is refused`() async throws {
        let text = "5\r\nhello\r\n3\r\nabc\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"
        let whole = try await read(ChunkedBody(body(text), signer: nil, hasTrailer: true))
        #expect(String(decoding: whole.bytes, as: UTF8.self) == "helloabc")
        // After the header of the last chunk, at 18..<21, all bytes of the object have arrived.
        for length in 0..<21 {
            await #expect(throws: S3Error.self, "\(length) bytes") {
                _ = try await read(
                    ChunkedBody(
                        body(String(decoding: text.utf8.prefix(length), as: UTF8.self)), signer: nil, hasTrailer: true))
            }
        }
    }

    @Test(arguments: [
        "x\r\n", "-1\r\n", "5\r\nhelloXX", "FFFFFFFFFFFFFFFFFF\r\n", "\r\n", String(repeating: "1", count: 9000),
    ])
    func `malformed chunks are refused`(text: String) async throws {
        await #expect(throws: S3Error.self) {
            _ = try await read(ChunkedBody(body(text), signer: nil, hasTrailer: true))
        }
    }
}
