import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import SystemIO
import Testing

/// Tests of clients that hold a server's resources without making requests.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
    private static let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    private func serve(
        _ limits: HTTPServer.Limits, handler: @escaping HTTPServer.Handler = { _ in .text(.ok, "served") },
        _ run: (Int) async throws -> Void
    ) async throws {
        try await withServer(limits: limits, handler: handler) { try await run(port(of: $0)) }
    }

    private func expectServed(_ port: Int) async throws {
        let other = try RawConnection(port: port)
        other.send(Self.request)
        #expect(await other.read(until: "served").contains("200 OK"))
    }

    @Test(arguments: ["", "GET", "GET / HTTP/1.1\r\nHost: h\r\nA: "])
    func `an endless header gets a response and is cut off`(
        head: String
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.header = .milliseconds(400)
        try await serve(limits) { port in
            let slow = try RawConnection(port: port)
            slow.send(head)
            #expect(slow.readWhileSending("a").hasPrefix("HTTP/1.1 408"))
            try await expectServed(port)
        }
    }

    @Test func `a second request on a connection has the same limit, and an idle connection another`() async throws {
        var limits = HTTPServer.Limits()
        limits.header = .milliseconds(400)
        limits.idle = .seconds(2)
        try await serve(limits) { port in
            let slow = try RawConnection(port: port)
            slow.send(Self.request)
            #expect(await slow.read(until: "served").contains("200 OK"))
            slow.send("GET / HTTP/1.1\r\nHost: h\r\nA: ")
            #expect(slow.readWhileSending("a").hasPrefix("HTTP/1.1 408"))
            let idle = try RawConnection(port: port)
            idle.send(Self.request)
            #expect(await idle.read(until: "served").contains("200 OK"))
            #expect(await idle.read(until: "never").isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `a body that comes too slowly ends its connection, one that the server holds back does not`(
        isRead: Bool
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.pace.grace = .milliseconds(400)
        limits.pace.longestPause = .milliseconds(400)
        let mayRead = Events<Void>()
        let failed = Events<Bool>()
        try await serve(limits) { request in
            if !isRead { _ = await mayRead.next() }
            do {
                return .text(.ok, "\(try await request.body.collect(limit: 1 << 20).count)")
            } catch {
                failed.send((error as? HTTPError)?.code == .connectionLost)
                throw error
            }
        } _: { port in
            let slow = try RawConnection(port: port)
            slow.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 600000\r\n\r\n")
            if isRead {
                #expect(slow.readWhileSending("a").hasPrefix("HTTP/1.1 408"))
                #expect(await failed.next() == true)
            } else {
                slow.send(String(repeating: "a", count: 600_000))
                // Other clients are cut off meanwhile.
                let other = try RawConnection(port: port)
                other.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n")
                #expect(other.readWhileSending("").hasPrefix("HTTP/1.1 408"))
                mayRead.send(())
                mayRead.send(())
                #expect(await slow.read(until: "600000").contains("200 OK"))
            }
        }
    }

    @Test func `an answer that is not read ends its connection`() async throws {
        var limits = HTTPServer.Limits()
        limits.pace.grace = .milliseconds(400)
        limits.pace.longestPause = .milliseconds(400)
        let ended = Events<Void>()
        try await serve(limits) { _ in
            let token = Token { ended.send(()) }
            return HTTPResponse(body: .stream { token.bytes })
        } _: { port in
            let stalled = try RawConnection(port: port)
            stalled.send(Self.request)
            _ = await ended.next()
        }
    }

    @Test func `connections that do nothing give way to others, requests in progress do not`() async throws {
        for isTotal in [true, false] {
            var limits = HTTPServer.Limits()
            limits.connections = isTotal ? 8 : 100
            limits.connectionsPerAddress = isTotal ? 0 : 8
            let begun = Events<Void>()
            let mayAnswer = Events<Void>()
            try await serve(limits) { request in
                guard request.target.path == "/slow" else { return .text(.ok, "served") }
                begun.send(())
                _ = await mayAnswer.next()
                return .text(.ok, "late")
            } _: { port in
                let busy = try RawConnection(port: port)
                busy.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = await begun.next()
                let oldest = try RawConnection(port: port)
                oldest.send("GET / HTTP/1.1\r\nHost: h\r\nA: ")
                var others: [Int32] = []
                defer { for other in others { close(other) } }
                for _ in 0..<50 { others.append(try RawConnection(port: port).release()) }
                #expect(await oldest.read(until: "never").hasPrefix("HTTP/1.1 408"))
                for _ in 0..<10 { try await expectServed(port) }
                mayAnswer.send(())
                #expect(await busy.read(until: "late").contains("200 OK"))
            }
        }
    }

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nContent-Length: 2",
        "Content-Length: 2\r\ncontent-length: 02", "Content-Length: 0\r\nContent-Length: 0",
        "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 100",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked", "Transfer-Encoding: identity\r\nContent-Length: 2",
        "Transfer-Encoding : chunked\r\nContent-Length: 2", "Content-Length : 2", "X(y): 1", "Content-Length: 2,2",
        "Content-Length: +2", "Content-Length: -1", "Content-Length: 0x2",
        "Content-Length: 99999999999999999999999", "Host: i", "Host: h", "X: a\0b", "X: a\0", "X:\0a", "X\0: a",
        "\0", "\0X: a", "X: a\0\r\nY: b", "X: a\0b\r\nY: b", "X: \u{1}", "X: \u{7F}",
        "X: a\rContent-Length: 2", "X: a\r\n b", "X: a\r\n Content-Length: 2\r\nY: b",
    ])
    func `a request that is ambiguous is refused, and what follows is no request`(fields: String) async throws {
        let asked = Events<String>()
        try await withServer { request in
            asked.send(request.target.path)
            return .text(.ok, "served")
        } run: { url in
            let connection = try RawConnection(port: port(of: url))
            connection.send("POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n0\r\n\r\n\(Self.request)\(Self.request)")
            let answer = await connection.read(until: "never")
            #expect(answer.hasPrefix("HTTP/1.1 400") || answer.hasPrefix("HTTP/1.1 413"), "\(answer)")
            #expect(!answer.contains("200 OK"), "\(answer)")
            _ = try await HTTPClient().send(HTTPRequest(.get, url + "/last"))
            #expect(await asked.next() == "/last")
        }
    }

    @Test(arguments: ["GET /a\0b HTTP/1.1", "GET /\0 HTTP/1.1", "GET /a HTTP/1.1\0"])
    func `a target that is cut off is refused`(line: String) async throws {
        try await withServer {
            .text(.ok, "served \($0.target.path)")
        } run: { url in
            let connection = try RawConnection(port: port(of: url))
            connection.send("\(line)\r\nHost: h\r\n\r\n\(Self.request)")
            let answer = await connection.read(until: "never")
            #expect(answer.hasPrefix("HTTP/1.1 400") && !answer.contains("served"), "\(answer)")
        }
    }

    @Test(arguments: ["X: a\tb ", "X:", "X:a", "X: \u{E9}", "X: a\r\nX: b\r\nY: "])
    func `odd fields that only one request can be are served`(fields: String) async throws {
        try await withServer { _ in
            .text(.ok, "served")
        } run: { url in
            for end in ["\r\n", "\n"] {
                let connection = try RawConnection(port: port(of: url))
                connection.send("GET /a%20b?c=d HTTP/1.1\(end)Host: h\(end)\(fields)\(end)\(end)")
                #expect(await connection.read(until: "\r\n\r\n").contains("200 OK"))
            }
        }
    }

    @Test func `a chunked body's trailers are bounded with its header`() async throws {
        try await withServer { request in
            .text(.ok, "\(try await request.body.collect(limit: 100).count)")
        } run: { url in
            let connection = try RawConnection(port: port(of: url))
            connection.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
            let line = "a: \(String(repeating: "b", count: 1000))\r\n"
            #expect(!connection.readWhileSending(line, until: "\r\n\r\n").contains("200 OK"))
        }
    }
}

/// An object that reports when its last reference is released.
private final class Token: Sendable {
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }
}

extension RawConnection {
    /// Sends the text repeatedly until the other end closes the connection or sends the expected
    /// text.
    ///
    /// - Returns: The text that was read.
    func readWhileSending(_ text: String, until end: String = "never") -> String {
        var pause = timeval(tv_sec: 0, tv_usec: 20_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &pause, socklen_t(MemoryLayout<timeval>.size))
        var all = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !all.contains(end) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { all += String(decoding: buffer[..<count], as: UTF8.self) }
            if count == 0 || (count < 0 && errno != EAGAIN) { break }
            if !text.isEmpty { send(text) }
        }
        return all
    }

    /// Returns a descriptor, which the caller closes.
    consuming func release() -> Int32 { dup(descriptor) }
}
