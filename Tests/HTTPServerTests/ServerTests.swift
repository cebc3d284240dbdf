import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ServerTests {
    @Test func `a handler that throws gives a bare 500 and is reported`() async throws {
        struct Trouble: Error {}
        let reported = Events<Bool>()
        try await withServer(onError: { reported.send($0 is Trouble) }, handler: { _ in throw Trouble() }) { url in
            let response = try await HTTPClient().send(HTTPRequest(.get, url + "/"))
            #expect(response.status == .internalServerError)
            #expect(await reported.next() == true)
        }
    }

    @Test func `only a trusted proxy may name the client of a request`() async throws {
        let network = try #require(IPNetwork("127.0.0.0/8"))
        for (proxies, expected) in [(TrustedProxies([network]), "198.51.100.7:0"), (TrustedProxies(), "127.0.0.1")] {
            try await withServer(proxies: proxies) {
                .text(.ok, $0.peer.address)
            } run: { url in
                for header in ["X-Forwarded-For", "x-forwarded-for"] {
                    let request = HTTPRequest(.get, url + "/", headers: [header: "192.0.2.1, 198.51.100.7"])
                    let text = try await HTTPClient().send(request).body.collect(limit: 100)
                    #expect(String(decoding: text, as: UTF8.self).hasPrefix(expected))
                }
                let text = try await HTTPClient().send(HTTPRequest(.get, url + "/")).body.collect(limit: 100)
                #expect(String(decoding: text, as: UTF8.self).hasPrefix("127.0.0.1:"))
            }
        }
    }

    @Test func `a handler is cancelled when its client hangs up`() async throws {
        let events = Events<String>()
        try await withServer { _ in
            events.send("started")
            do {
                try await Task.sleep(for: .seconds(50))
            } catch {
                events.send("cancelled")
            }
            return HTTPResponse()
        } run: { url in
            let request = Task { try await HTTPClient().send(HTTPRequest(.get, url + "/")) }
            #expect(await events.next() == "started")
            request.cancel()
            #expect(await events.next() == "cancelled")
            await #expect(throws: CancellationError.self) { try await request.value }
        }
    }

    @Test(arguments: [1, 1000, 300_000, 3_000_000], [true, false])
    func `a handler gets a body whole, begun or not, and its long answer arrives`(count: Int, begun: Bool) async throws
    {
        let sent = pattern(count)
        try await withServer { request in
            var bytes: [UInt8] = []
            var parts = request.body.makeAsyncIterator()
            if begun, let first = try await parts.next() { bytes = first }
            try await request.body.appendRest(to: &bytes)
            return HTTPResponse(body: .bytes(bytes))
        } run: { url in
            for _ in 0..<3 {
                let answer = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: .bytes(sent)))
                #expect(try await answer.body.collect(limit: count) == sent)
            }
        }
    }

    @Test func `a body of known length comes in long parts, another as it arrives`() async throws {
        let sent = pattern(3_000_000)
        let lengths = Events<[Int]>()
        let parts = Events<[UInt8]>()
        try await withServer { request in
            var found: [Int] = []
            for try await part in request.body {
                found.append(part.count)
                if request.body.length == nil { parts.send([UInt8](repeating: 1, count: found.count < 3 ? 1 : 0)) }
            }
            lengths.send(found)
            return HTTPResponse()
        } run: { url in
            _ = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: .bytes(sent)))
            let long = try #require(await lengths.next())
            #expect(long.reduce(0, +) == sent.count)
            #expect(long.dropLast().allSatisfy { $0 >= 256 << 10 }, "\(long)")
            // Each part is sent once the previous one was received.
            parts.send([1])
            let body = HTTPBody.stream {
                let part = await parts.next()
                return part?.isEmpty == true ? nil : part
            }
            _ = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: body))
            #expect(await lengths.next() == [1, 1, 1])
        }
    }

    @Test func `a body that breaks off while it is gathered fails its handler`() async throws {
        let events = Events<String>()
        try await withServer { request in
            var bytes: [UInt8] = []
            do {
                events.send("begun")
                try await request.body.appendRest(to: &bytes)
                events.send("whole")
            } catch {
                events.send("failed")
            }
            return HTTPResponse()
        } run: { url in
            let parts = Events<[UInt8]>()
            parts.send([1])
            let request = Task {
                try await HTTPClient().send(
                    HTTPRequest(.put, url + "/", body: .stream(length: 1000) { await parts.next() }))
            }
            #expect(await events.next() == "begun")
            request.cancel()
            #expect(await events.next() == "failed")
            _ = try? await request.value
        }
    }

    enum Sent: CaseIterable {
        case nothing, empty, chunked, large

        var size: Int {
            switch self {
            case .nothing, .empty: 0
            case .chunked: 3
            // More than the server buffers for a handler that does not read.
            case .large: 300_000
            }
        }

        /// The rest of a request after its target and host.
        var rest: (head: String, body: String) {
            switch self {
            case .nothing: ("\r\n", "")
            case .empty: ("Content-Length: 0\r\n\r\n", "")
            case .chunked: ("Transfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n")
            case .large: ("Content-Length: \(size)\r\n\r\n", String(repeating: "a", count: size))
            }
        }
    }

    enum Answer: CaseIterable {
        /// An answer that is sent without reading the body.
        case atOnce
        case whenRead
        /// An answer that is sent after the client has closed its side.
        case late
    }

    /// Checks that a client may close its side after its request, and that the connection ends
    /// right after the answer.
    @Test(arguments: Sent.allCases, Answer.allCases)
    func `a client that closes its side behind the request gets the answer and the end`(
        sent: Sent, answer: Answer
    ) async throws {
        let started = Events<Void>()
        let mayAnswer = Events<Void>()
        try await withServer { request in
            started.send(())
            if answer == .atOnce { return .text(.ok, "\(sent.size)") }
            if answer == .late { _ = await Task { await mayAnswer.next() }.value }
            return .text(.ok, "\(try await request.body.collect(limit: .max).count)")
        } run: { url in
            // libmicrohttpd examines only the oldest connection if no other one is active.
            let oldest = try RawConnection(port: port(of: url))
            for round in 0..<20 {
                let connection = try RawConnection(port: port(of: url))
                connection.send("PUT / HTTP/1.1\r\nHost: x\r\n\(sent.rest.head)")
                // The handler runs before the body arrives in every other round.
                let isApart = round % 2 == 0 && sent.size > 0
                if isApart { _ = await started.next() }
                connection.send(sent.rest.body, isFollowed: true)
                connection.closeSending()
                if !isApart { _ = await started.next() }
                mayAnswer.send(())
                let answer = await connection.read(until: "no such text")
                #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\n\(sent.size)"), "\(answer)")
            }
            oldest.closeSending()
        }
    }

    @Test func `a client that closes its side after several requests gets all responses and the end`() async throws {
        try await withServer { request in
            .text(.ok, "<\(try await request.body.collect(limit: .max).count)>")
        } run: { url in
            for _ in 0..<20 {
                let connection = try RawConnection(port: port(of: url))
                let requests = [Sent.nothing, .chunked, .large, .empty].map {
                    "PUT / HTTP/1.1\r\nHost: x\r\n\($0.rest.head)\($0.rest.body)"
                }
                connection.send(requests.joined(), isFollowed: true)
                connection.closeSending()
                let answers = await connection.read(until: "no such text")
                let sizes = answers.split(separator: "<").dropFirst().map { $0.prefix { $0 != ">" } }
                #expect(sizes == ["0", "3", "300000", "0"])
            }
        }
    }

    /// Checks that the connection ends at once, and not at its time limit, whatever part of the
    /// request is missing.
    @Test(arguments: ["", "PUT / HT", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 300001\r\n\r\n"])
    func `a client that closes its side within the request gets the end`(start: String) async throws {
        try await withServer { request in
            _ = try await request.body.collect(limit: .max)
            return HTTPResponse()
        } run: { url in
            let body = start.hasSuffix("\n") ? Sent.large.rest.body : ""
            for _ in 0..<20 {
                let connection = try RawConnection(port: port(of: url))
                connection.send(start + body, isFollowed: true)
                connection.closeSending()
                #expect(await connection.read(until: "no such text").isEmpty)
            }
        }
    }

    @Test func `a handler that reads a body learns that it breaks off`() async throws {
        // Either the body ends first, or the handler is cancelled because its client is gone.
        let outcome = Events<Bool>()
        try await withServer { request in
            do {
                for try await _ in request.body {}
                outcome.send(false)
            } catch {
                outcome.send((error as? HTTPError)?.code == .connectionLost || error is CancellationError)
            }
            return HTTPResponse()
        } run: { url in
            do {
                let connection = try RawConnection(port: port(of: url))
                connection.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12345")
            }
            #expect(await outcome.next() == true)
        }
    }

    @Test(arguments: [true, false])
    func `a body over the limit is refused with 413`(lengthIsKnown: Bool) async throws {
        var limits = HTTPServer.Limits()
        limits.body = 100_000
        try await withServer(limits: limits) { request in
            HTTPResponse(body: .bytes(try await request.body.collect(limit: .max)))
        } run: { url in
            let pieces = AsyncStream { continuation in
                for _ in 0..<30 { continuation.yield([UInt8](repeating: 1, count: 10_000)) }
                continuation.finish()
            }
            let body = HTTPBody.stream(pieces, length: lengthIsKnown ? 300_000 : nil)
            let response = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: body))
            #expect(response.status == .contentTooLarge)
        }
    }

    @Test func `a handler may answer without reading the body, and the connection stays in use`() async throws {
        try await withServer { request in
            .text(.forbidden, request.peer.address)
        } run: { url in
            let client = HTTPClient()
            var peers = Set<[UInt8]>()
            for _ in 0..<3 {
                let request = HTTPRequest(.put, url + "/", body: .bytes(pattern(3_000_000)))
                let response = try await client.send(request)
                #expect(response.status == .forbidden)
                peers.insert(try await response.body.collect(limit: 100))
            }
            #expect(peers.count == 1)
        }
    }

    @Test func `a client that waits for 100 Continue gets it when the body is wanted, else the refusal`() async throws {
        try await withServer { request in
            guard request.target.path == "/wanted" else { return .text(.forbidden, "no") }
            return HTTPResponse(body: .bytes(try await request.body.collect(limit: 10)))
        } run: { url in
            let head = "HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            let wanted = try RawConnection(port: port(of: url))
            wanted.send("PUT /wanted \(head)")
            #expect(await wanted.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
            wanted.send("12345")
            #expect(await wanted.read(until: "12345").contains("200 OK"))
            let unwanted = try RawConnection(port: port(of: url))
            unwanted.send("PUT /unwanted \(head)")
            #expect(await unwanted.read(until: "no").hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test(arguments: ["nopath", "/%", "/%0", "/%zz", "/%00", "/%ff", "/a?b=%g1", "/ä"])
    func `a malformed target never reaches the handler`(target: String) async throws {
        try await withServer { _ in
            HTTPResponse()
        } run: { url in
            let connection = try RawConnection(port: port(of: url))
            connection.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await connection.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test func `header fields beyond the memory of a connection are refused`() async throws {
        try await withServer { _ in
            HTTPResponse()
        } run: { url in
            let connection = try RawConnection(port: port(of: url))
            connection.send("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 200_000))\r\n\r\n")
            let answer = await connection.read(until: "\r\n\r\n")
            #expect(answer.isEmpty || answer.contains("431"))
        }
    }

    @Test func `an idle client is disconnected`() async throws {
        var limits = HTTPServer.Limits()
        limits.idle = .seconds(1)
        try await withServer(limits: limits) { request in
            for try await _ in request.body {}
            return HTTPResponse()
        } run: { url in
            for start in ["", "GET / HTTP/1.1\r\nHo", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123"] {
                let connection = try RawConnection(port: port(of: url))
                connection.send(start)
                #expect(await connection.read(until: "never").isEmpty)
            }
        }
    }

    @Test func `a slow reader holds up the writer`() async throws {
        let produced = Counter()
        try await withServer { _ in
            HTTPResponse(
                body: .stream {
                    produced.add(1 << 16)
                    return [UInt8](repeating: 0, count: 1 << 16)
                })
        } run: { url in
            let response = try await HTTPClient().send(HTTPRequest(.get, url + "/"))
            var iterator = response.body.makeAsyncIterator()
            var received = 0
            while received < 30 << 20, let chunk = try await iterator.next() {
                received += chunk.count
                // The buffers of the sockets and of libcurl, and one high-water mark on each side.
                #expect(produced.value - received < 24 << 20)
            }
            #expect(received >= 30 << 20)
        }
    }

    @Test func `a slow handler holds up the sender`() async throws {
        let produced = Counter()
        try await withServer { request in
            var received = 0
            for try await chunk in request.body {
                received += chunk.count
                #expect(produced.value - received < 24 << 20)
            }
            return .text(.ok, "\(received)")
        } run: { url in
            let body = HTTPBody.stream {
                produced.add(1 << 16) > 30 << 20 ? nil : [UInt8](repeating: 0, count: 1 << 16)
            }
            let response = try await HTTPClient().send(HTTPRequest(.put, url + "/", body: body))
            #expect(try await response.body.collect(limit: 20) == Array("\(30 << 20)".utf8))
        }
    }
}
