import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LoopbackTests {
    @Test func `a response comes with its status, header fields and body`() async throws {
        try await withServer { request in
            #expect(request.method == .get)
            #expect(request.target.path == "/a b")
            #expect(request.target[query: "x"] == "1 2")
            #expect(request.headers["x-one"] == "two")
            return HTTPResponse(.created, headers: ["X-Answer": "yes"], body: .text("hello"))
        } run: { url in
            let response = try await HTTPClient().send(
                HTTPRequest(.get, url + "/a%20b?x=1+2", headers: ["X-One": "two"]))
            #expect(response.status == .created)
            #expect(response.headers["x-answer"] == "yes")
            #expect(try await response.body.collect(limit: 100) == Array("hello".utf8))
        }
    }

    @Test(arguments: [0, 1, 1000, 100_000, 3_000_001])
    func `a body of bytes goes there and comes back`(size: Int) async throws {
        try await withServer { request in
            HTTPResponse(body: .bytes(try await request.body.collect(limit: 10 << 20)))
        } run: { url in
            let bytes = pattern(size)
            let response = try await HTTPClient().send(HTTPRequest(.put, url + "/x", body: .bytes(bytes)))
            #expect(try await response.body.collect(limit: size) == bytes)
        }
    }

    @Test(arguments: [true, false])
    func `a streamed body goes there and comes back`(lengthIsKnown: Bool) async throws {
        let bytes = pattern(5_000_000)
        let pieces = stride(from: 0, to: bytes.count, by: 70_001).map {
            Array(bytes[$0..<min($0 + 70_001, bytes.count)])
        }
        let length = lengthIsKnown ? bytes.count : nil
        let stream: @Sendable () -> HTTPBody = {
            .stream(
                AsyncStream { continuation in
                    pieces.forEach { continuation.yield($0) }
                    continuation.finish()
                }, length: length)
        }
        try await withServer { request in
            #expect(request.body.length == length)
            let received = try await request.body.collect(limit: bytes.count)
            #expect(received == bytes)
            return HTTPResponse(body: stream())
        } run: { url in
            let response = try await HTTPClient().send(HTTPRequest(.post, url + "/x", body: stream()))
            #expect(response.body.length == length)
            #expect(try await response.body.collect(limit: bytes.count) == bytes)
        }
    }

    @Test func `a file is sent from its descriptor, and in part`() async throws {
        try await withTemporaryDirectory { directory in
            let bytes = pattern(1_000_000)
            let file = open("\(directory)/file", O_RDWR | O_CREAT, 0o600)
            defer { close(file) }
            #expect(write(file, bytes, bytes.count) == bytes.count)
            let part = try FileRange(duplicating: file, offset: 1000, length: 600_000)
            try await withServer { request in
                let received = try await request.body.collect(limit: bytes.count)
                #expect(received == Array(bytes[1000..<601_000]))
                return HTTPResponse(.partialContent, body: .file(part))
            } run: { url in
                let response = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: .file(part)))
                #expect(response.body.length == 600_000)
                #expect(try await response.body.collect(limit: 600_000) == Array(bytes[1000..<601_000]))
            }
        }
    }

    @Test func `HEAD returns the length without a body`() async throws {
        try await withServer { _ in
            HTTPResponse(body: .omitted(length: 12345))
        } run: { url in
            let response = try await HTTPClient().send(HTTPRequest(.head, url + "/"))
            #expect(response.headers.contentLength == 12345)
            #expect(try await response.body.collect(limit: 0) == [])
        }
    }

    @Test func `requests one after the other share a connection`() async throws {
        try await withServer { request in
            .text(.ok, request.peer.address)
        } run: { url in
            let client = HTTPClient()
            var peers = Set<[UInt8]>()
            for _ in 0..<5 {
                peers.insert(try await client.send(HTTPRequest(.get, url + "/")).body.collect(limit: 100))
            }
            #expect(peers.count == 1)
        }
    }

    @Test func `many requests at once all get their own answer`() async throws {
        try await withServer { request in
            HTTPResponse(body: .bytes(try await request.body.collect(limit: 100)))
        } run: { url in
            let client = HTTPClient()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let body = Array("number \(number)".utf8)
                        let request = HTTPRequest(.post, url + "/\(number)", body: .bytes(body))
                        return try await client.send(request).body.collect(limit: 100) == body
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func `a redirect is an answer`() async throws {
        try await withServer { _ in
            HTTPResponse(.movedPermanently, headers: ["Location": "/elsewhere"])
        } run: { url in
            let response = try await HTTPClient().send(HTTPRequest(.get, url + "/"))
            #expect(response.status == .movedPermanently)
            #expect(response.headers["location"] == "/elsewhere")
        }
    }
}
