import HTTPMessages
import HTTPServer
import Synchronization
import Testing

@testable import S3Server

struct FormTests {
    /// Returns a request with a body that arrives in pieces of random lengths.
    private static func request(_ body: String, seed: UInt64, type: String = "multipart/form-data; boundary=\"b-1\"")
        throws -> HTTPServerRequest
    {
        let target = try #require(HTTPTarget("/ferry"))
        let rest = Mutex((Array(body.utf8)[...], SeededGenerator(seed: seed)))
        return HTTPServerRequest(
            .post, target, headers: ["Content-Type": type],
            body: .stream {
                rest.withLock { state in
                    guard !state.0.isEmpty else { return nil }
                    let count = Int.random(in: 1...(seed % 2 == 0 ? 3 : 200), using: &state.1)
                    defer { state.0 = state.0.dropFirst(count) }
                    return Array(state.0.prefix(count))
                }
            })
    }

    private static func part(_ name: String, _ value: String, file: String? = nil) -> String {
        let file = file.map { "; filename=\"\($0)\"\r\nContent-Type: text/plain" } ?? ""
        return "--b-1\r\ncontent-disposition: form-data; name=\"\(name)\"\(file)\r\n\r\n\(value)\r\n"
    }

    private static func file(of form: FormReader) async throws -> String {
        var bytes: [UInt8] = []
        while let chunk = try await form.next() { bytes += chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `forms are read the same wherever the pieces of their bytes end`(seed: UInt64) async throws {
        let content = "\r\n--b-\r\n\r\n--b\r\r\n--b-2 ü"
        let body =
            "preamble\r\n" + Self.part("Key", "a\r\nb") + Self.part("empty", "")
            + Self.part("file", content, file: "x \\\"y\\\".txt")
            + Self.part("late", "1") + "--b-1--\r\n"
        let form = try #require(FormReader(try Self.request(body, seed: seed)))
        let (fields, name) = try await form.fields()
        #expect(fields == ["key": "a\r\nb", "empty": ""] && name == "x \"y\".txt")
        #expect(try await Self.file(of: form) == content)
        #expect(try await form.next() == nil)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `incomplete forms are refused`(seed: UInt64) async throws {
        let body = Self.part("key", "a") + Self.part("file", "content", file: "x")
        let form = try #require(FormReader(try Self.request(body, seed: seed)))
        _ = try await form.fields()
        await #expect(throws: S3Error.self) { try await Self.file(of: form) }
        for end in stride(from: 0, to: body.utf8.count - 20, by: 7) {
            let cut = try #require(FormReader(try Self.request(String(body.prefix(end)), seed: seed)))
            await #expect(throws: S3Error.self) {
                _ = try await cut.fields()
                _ = try await Self.file(of: cut)
            }
        }
    }

    @Test func `a form has a boundary of 70 characters at most`() throws {
        #expect(FormReader.boundary("multipart/form-data; boundary=x") == "x")
        #expect(FormReader.boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"x y\"") == "x y")
        for type in [
            "multipart/form-data", "text/plain; boundary=x", "multipart/form-data; boundary=",
            "multipart/form-data; boundary=\(String(repeating: "x", count: 71))",
        ] {
            #expect(FormReader.boundary(type) == nil, "\(type)")
        }
    }

    @Test func `a form is checked against its policy`() throws {
        func policy(_ conditions: String, expires: String = "2030-01-01T00:00:00.000Z") throws -> PostPolicy {
            try PostPolicy(parsing: Array("{\"expiration\": \"\(expires)\", \"conditions\": \(conditions)}".utf8))
        }
        let good = try policy(
            "[{\"key\": \"a\"}, [\"starts-with\", \"$x\", \"\"], [\"content-length-range\", \"1\", 9]]")
        #expect(good.length == 1...9)
        try good.check(["key": "a", "x": "any", "bucket": "b", "policy": "", "x-ignore-y": ""], now: 0)
        #expect(throws: S3Error.self) { try good.check(["key": "b"], now: 0) }
        #expect(throws: S3Error.self) { try good.check(["key": "a", "y": ""], now: 0) }
        #expect(throws: S3Error.self) { try good.check(["key": "a"], now: 1_900_000_000) }
        for conditions in [
            "{}", "[1]", "[[\"eq\", \"x\", \"y\"]]", "[[\"in\", \"$x\", \"y\"]]", "[{\"key\": 1}]",
            "[[\"content-length-range\", 9, 1]]", "[[\"content-length-range\", -1, 1]]", "[[\"eq\", \"$x\"]]",
        ] {
            #expect(throws: S3Error.self, "\(conditions)") { try policy(conditions) }
        }
        #expect(throws: S3Error.self) { try policy("[]", expires: "tomorrow") }
        #expect(throws: S3Error.self) { try PostPolicy(parsing: Array("[".utf8)) }
    }

    @Test func `wildcards stand for any text`() {
        #expect(CORSRules.fits("https://a.example.org", "https://*.example.org"))
        #expect(CORSRules.fits("https://.example.org", "https://*.example.org"))
        #expect(!CORSRules.fits("https://example.org", "https://*.example.org"))
        #expect(!CORSRules.fits("aba", "ab*ba"))
        #expect(CORSRules.fits("anything", "*"))
        #expect(!CORSRules.fits("anything", "any"))
    }
}
