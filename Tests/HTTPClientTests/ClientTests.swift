import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ClientTests {
    @Test func `an unreachable server is distinguished from an unknown name`() async throws {
        let unused = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(unused) }
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in HTTPResponse() }
        let address = try server.start()
        await server.stop()
        #expect(await code { try await get("http://\(address)/") } == .couldNotConnect)
        #expect(await code { try await get("http://no-such-host.invalid/") } == .couldNotResolve)
        let path = "/tmp/ferry-no-such-socket"
        let request = HTTPRequest(.get, "http://x/", socketPath: path)
        #expect(await code { _ = try await HTTPClient().send(request) } == .couldNotConnect)
    }

    @Test(arguments: [
        HTTPRequest(.get, "127.0.0.1/"), HTTPRequest(.get, "ftp://x/"), HTTPRequest(.get, "http:///"),
        HTTPRequest(.get, "http://x/a b"), HTTPRequest(.get, "http://x/", headers: ["A": "b\r\nC: d"]),
        HTTPRequest(.get, "http://x/", headers: ["A b": "c"]), HTTPRequest("GET /\r\nX:", "http://x/"),
        HTTPRequest(.get, "http://x/", socketPath: String(repeating: "x", count: 200)),
        HTTPRequest(.get, "http://x/", socketPath: ""),
    ])
    func `what cannot be sent is refused before anything is sent`(request: HTTPRequest) async {
        #expect(await code { _ = try await HTTPClient().send(request) } == .invalidMessage)
    }

    @Test func `an answer that does not come in time is given up`() async throws {
        try await withServer { _ in
            try await Task.sleep(for: .seconds(50))
            return HTTPResponse()
        } run: { url in
            let timeouts = HTTPRequest.Timeouts(total: .milliseconds(50))
            #expect(await code { try await get(url + "/", timeouts) } == .timedOut)
        }
    }

    @Test func `clients released with unread responses end`() async throws {
        let body = pattern(2 << 20)
        try await withServer { _ in
            HTTPResponse(body: .bytes(body))
        } run: { url in
            for _ in 0..<100 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let client = HTTPClient()
                    for _ in 0..<4 {
                        group.addTask { _ = try await client.send(HTTPRequest(.get, url + "/")) }
                    }
                    try await group.next()
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
        }
    }

    @Test func `a body that stops coming is given up`() async throws {
        try await withServer { _ in
            HTTPResponse(body: .stream(AsyncStream<[UInt8]> { $0.yield([1, 2, 3]) }))
        } run: { url in
            let request = HTTPRequest(.get, url + "/", timeouts: HTTPRequest.Timeouts(stall: .seconds(1)))
            let result = await code { _ = try await HTTPClient().send(request).body.collect(limit: 10) }
            #expect(result == .timedOut)
        }
    }

    @Test func `a body that drips is given up`() async throws {
        try await withServer { _ in
            HTTPResponse(
                body: .stream(
                    AsyncStream {
                        try? await Task.sleep(for: .milliseconds(50))
                        return Task.isCancelled ? nil : [1]
                    }))
        } run: { url in
            let timeouts = HTTPRequest.Timeouts(stall: .seconds(1), minimumRate: 1000)
            let request = HTTPRequest(.get, url + "/", timeouts: timeouts)
            let result = await code { _ = try await HTTPClient().send(request).body.collect(limit: 10_000) }
            #expect(result == .timedOut)
        }
    }

    @Test func `cancelling ends a body that is being read`() async throws {
        let events = Events<String>()
        try await withServer { _ in
            HTTPResponse(
                body: .stream(
                    AsyncStream<[UInt8]> { continuation in
                        continuation.onTermination = { _ in events.send("gone") }
                        continuation.yield([1])
                    }))
        } run: { url in
            let reader = Task {
                for try await _ in try await HTTPClient().send(HTTPRequest(.get, url + "/")).body {
                    events.send("first")
                }
            }
            #expect(await events.next() == "first")
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            #expect(await events.next() == "gone")
        }
    }

    @Test func `a response without a reader is cancelled`() async throws {
        let events = Events<String>()
        try await withServer { _ in
            HTTPResponse(
                body: .stream(
                    AsyncStream<[UInt8]> { continuation in
                        continuation.onTermination = { _ in events.send("gone") }
                        continuation.yield([1])
                    }))
        } run: { url in
            let status = try await HTTPClient().send(HTTPRequest(.get, url + "/")).status
            #expect(status == .ok)
            #expect(await events.next() == "gone")
        }
    }

    @Test func `a response cut short is an error, not an end`() async throws {
        struct Trouble: Error {}
        for length in [nil, 1000] {
            try await withServer { _ in
                let sent = Counter()
                return HTTPResponse(
                    body: .stream(length: length) {
                        if sent.add(1) > 1 { throw Trouble() }
                        return [1, 2, 3]
                    })
            } run: { url in
                let response = try await HTTPClient().send(HTTPRequest(.get, url + "/"))
                #expect(await code { _ = try await response.body.collect(limit: 2000) } == .connectionLost)
            }
        }
    }

    @Test(arguments: [0, 1, 300_000, 3_000_000])
    func `the rest of a body is written into its final place`(length: Int) async throws {
        let whole = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try await withServer { _ in
            HTTPResponse(body: .bytes(whole))
        } run: { url in
            for prefersWhole in [false, true] {
                for isBegun in [false, true] {
                    var request = HTTPRequest(.get, url + "/")
                    request.prefersWhole = prefersWhole
                    let body = try await HTTPClient().send(request).body
                    var bytes: [UInt8] = []
                    bytes.reserveCapacity(length)
                    var parts = body.makeAsyncIterator()
                    if isBegun { bytes += try await parts.next() ?? [] }
                    try await body.appendRest(to: &bytes)
                    #expect(bytes == whole)
                }
            }
        }
    }

    @Test func `the part of a body before it broke off is available`() async throws {
        struct Trouble: Error {}
        let chunk = [UInt8](repeating: 7, count: 100_000)
        try await withServer { _ in
            let sent = Counter()
            return HTTPResponse(
                body: .stream(length: 1_000_000) {
                    if sent.add(1) > 5 { throw Trouble() }
                    return chunk
                })
        } run: { url in
            let body = try await HTTPClient().send(HTTPRequest(.get, url + "/")).body
            let bytes = Collected()
            #expect(await code { try await bytes.collect(body) } == .connectionLost)
            #expect(bytes.bytes.starts(with: [1, 2, 3] + chunk))
            #expect(bytes.bytes.dropFirst(3).allSatisfy { $0 == 7 })
        }
    }

    @Test func `collecting the rest of a body can be cancelled`() async throws {
        let events = Events<String>()
        try await withServer { _ in
            HTTPResponse(
                body: .stream(
                    AsyncStream<[UInt8]> { continuation in
                        continuation.onTermination = { _ in events.send("gone") }
                        continuation.yield([1])
                    }, length: 10))
        } run: { url in
            let body = try await HTTPClient().send(HTTPRequest(.get, url + "/")).body
            let reader = Task {
                var bytes: [UInt8] = []
                events.send("begun")
                try await body.appendRest(to: &bytes)
            }
            #expect(await events.next() == "begun")
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            #expect(await events.next() == "gone")
        }
    }

    @Test func `a body longer than announced is not collected`() async throws {
        let listener = try RawListener()
        let collected = Task {
            let body = try await HTTPClient().send(HTTPRequest(.get, listener.url)).body
            return await code { try await Collected().collect(body) }
        }
        let chunk = "10000\r\n" + String(repeating: "x", count: 0x10000) + "\r\n"
        listener.answer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
                + String(repeating: chunk, count: 10) + "0\r\n\r\n")
        #expect(try await collected.value == .protocolViolation)
    }

    @Test func `a body larger than the reader's limit is refused`() async throws {
        try await withServer { request in
            let bytes = [UInt8](repeating: 0, count: 1001)
            return HTTPResponse(
                body: request.target.path == "/known"
                    ? .bytes(bytes)
                    : .stream(
                        AsyncStream {
                            $0.yield(bytes)
                            $0.finish()
                        }))
        } run: { url in
            for path in ["/known", "/unknown"] {
                let response = try await HTTPClient().send(HTTPRequest(.get, url + path))
                #expect(await code { _ = try await response.body.collect(limit: 1000) } == .bodyTooLarge)
            }
        }
    }

    @Test func `header fields larger than the client's limit are refused`() async throws {
        try await withServer { _ in
            HTTPResponse(headers: ["X": String(repeating: "x", count: 5000)])
        } run: { url in
            var configuration = HTTPClient.Configuration()
            configuration.headerLimit = 4000
            let client = HTTPClient(configuration)
            #expect(await code { _ = try await client.send(HTTPRequest(.get, url + "/")) } == .headersTooLarge)
        }
    }

    @Test func `a request's body that fails ends the request with its error`() async throws {
        struct Trouble: Error {}
        try await withServer { request in
            for try await _ in request.body {}
            return HTTPResponse()
        } run: { url in
            let request = HTTPRequest(.put, url + "/", body: .stream { throw Trouble() })
            await #expect(throws: Trouble.self) { try await HTTPClient().send(request) }
        }
    }

    @Test func `a peer that does not speak HTTP is distinguished from one that answers`() async throws {
        let listener = try RawListener()
        let answer = Task { await code { try await get(listener.url) } }
        listener.answer("SSH-2.0-OpenSSH\r\n")
        let result = await answer.value
        #expect(result == .protocolViolation || result == .connectionLost)
    }

    @Test func `a body that is longer than announced comes, also where the whole was wanted at once`() async throws {
        let listener = try RawListener()
        var request = HTTPRequest(.get, listener.url)
        request.prefersWhole = true
        let answer = Task { [request] in try await HTTPClient().send(request).body.collect(limit: 1 << 20) }
        let chunk = "10000\r\n" + String(repeating: "x", count: 0x10000) + "\r\n"
        listener.answer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
                + String(repeating: chunk, count: 10) + "0\r\n\r\n")
        #expect(try await answer.value.count == 10 * 0x10000)
    }

    private func get(_ url: String, _ timeouts: HTTPRequest.Timeouts = .init()) async throws {
        _ = try await HTTPClient().send(HTTPRequest(.get, url, timeouts: timeouts)).body.collect(limit: 1000)
    }
}

/// Three bytes, followed by those that were received.
private final class Collected {
    private(set) var bytes: [UInt8] = [1, 2, 3]

    func collect(_ body: HTTPBody) async throws { try await body.appendRest(to: &bytes) }
}
