import Testing

@testable import HTTPMessages

@Suite struct ResponseDecoderTests {
    private struct Decoded: Equatable {
        var status: Int?
        var body = ""
        var isComplete = false
    }

    /// Decodes a response that arrives `size` bytes at a time.
    private func decode(_ text: String, _ size: Int) throws -> Decoded {
        var decoder = HTTPResponseDecoder()
        var body: [UInt8] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            body += try decoder.decode(bytes[start..<min(bytes.count, start + size)])
        }
        return Decoded(
            status: decoder.status?.rawValue, body: String(decoding: body, as: UTF8.self),
            isComplete: decoder.isComplete)
    }

    @Test(arguments: [1, 2, 7, 4096]) func `a response is the same however it is cut`(size: Int) throws {
        let fixed = "HTTP/1.1 200 OK\r\nContent-Length:  5 \r\nFerry-Version: 1\r\n\r\nhello"
        #expect(try decode(fixed, size) == Decoded(status: 200, body: "hello", isComplete: true))
        let chunked = "HTTP/1.1 404 \r\ntransfer-encoding: Chunked\r\n\r\n3;a=b\r\nhel\r\n02\r\nlo\r\n0\r\nX: y\r\n\r\n"
        #expect(try decode(chunked, size) == Decoded(status: 404, body: "hello", isComplete: true))
        #expect(try decode("HTTP/1.1 204 No\r\n\r\n", size) == Decoded(status: 204, isComplete: true))
        let cut = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"
        #expect(try decode(cut, size) == Decoded(status: 200, body: "hello"))
        #expect(try decode("HTTP/1.1 200 OK\r\nContent-Le", size) == Decoded())
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\n", "HTTP/1.1 099 No\r\n", "HTTP/1.1 100 Continue\r\n", "HTTP/1.1 2000 OK\r\n",
        "GARBAGE\r\n",
        "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\r\nA: b\rc\r\n", "HTTP/1.1 200 OK\r\nnothing\r\n",
        "HTTP/1.1 200 OK\r\n folded: yes\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore",
    ]) func `anything but a well-formed response is refused`(text: String) {
        #expect(throws: HTTPError.self) { try decode(text, 1) }
        #expect(throws: HTTPError.self) { try decode(text, 4096) }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nA: ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ",
    ]) func `a line without end is refused before it fills the memory`(start: String) throws {
        var decoder = HTTPResponseDecoder()
        _ = try decoder.decode(Array(start.utf8))
        let error = #expect(throws: HTTPError.self) {
            for _ in 0..<1025 { _ = try decoder.decode([UInt8](repeating: 0x61, count: 1024)) }
        }
        #expect(error?.code == .headersTooLarge)
    }
}
