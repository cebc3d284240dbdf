import GRPCProtocol
import GRPCTestKit
import Glibc
import Synchronization
import Testing

@testable import GRPCClient

/// Tests of a client whose server violates the protocol, or uses rare parts of it.
@Suite(.timeLimit(.minutes(1))) struct ClientTests {
    private func outcome(_ server: RawServer, _ change: (inout GRPCChannelConfiguration) -> Void = { _ in }) async
        -> GRPCStatus
    {
        let channel = server.channel(change)
        defer { channel.close() }
        return await status { _ = try await channel.unary("/a/b", [1, 2, 3]) }
    }

    // MARK: Leaving servers

    @Test func `a server that leaves ends its calls, and others go to a new connection`() async throws {
        let isLeaving = Events(of: Void.self)
        let server = try RawServer(
            { peer in
                peer.greet()
                let stream = peer.nextCall()
                peer.answerHeaders(stream)
                peer.send(7, [0, 0, 0, stream, 0, 0, 0, 0])
                isLeaving.add(())
                // The client's message is sent once the other connection has answered. A call that
                // was sent meanwhile has one too.
                while let frame = peer.next(0), frame.stream != stream {}
                peer.send(0, stream: stream, [0, 0, 0, 0, 1, 5])
                peer.headers([("grpc-status", "0")], stream: stream, isLast: true)
                peer.readToEnd()
            },
            { peer in
                peer.greet()
                for _ in 0..<2 { peer.answer(peer.nextCall()) }
                peer.readToEnd()
            })
        let channel = server.channel()
        let call = try channel.call("/a/b")
        _ = await call.headers()
        _ = await isLeaving.next()
        // The call may be sent before the notice is read, and is then refused.
        while (try? await channel.unary("/a/b", [])) != [7] {}
        try await call.send([1])
        call.finish()
        #expect(try await call.next() == [5])
        #expect(try await call.next() == nil)
        #expect(try await channel.unary("/a/b", []) == [7])
        #expect(server.accepted.load(ordering: .relaxed) == 2)
        channel.close()
    }

    @Test func `calls that a leaving server has not seen go to the next connection`() async throws {
        let isOpen = Events(of: Void.self)
        let mayLeave = Atomic(false)
        let server = try RawServer(
            { peer in
                // The server allows one call at a time.
                peer.greet([0, 3, 0, 0, 0, 1])
                let stream = peer.nextCall()
                peer.answerHeaders(stream)
                isOpen.add(())
                while !mayLeave.load(ordering: .relaxed) { sched_yield() }
                peer.send(7, [0, 0, 0, stream, 0, 0, 0, 0])
                peer.readToEnd()
            },
            { peer in
                peer.greet()
                for _ in 0..<3 { peer.answer(peer.nextCall()) }
                peer.readToEnd()
            })
        let channel = server.channel()
        let call = try channel.call("/a/b")
        _ = await call.headers()
        _ = await isOpen.next()
        async let first = channel.unary("/a/b", [1])
        async let second = channel.unary("/a/b", [2])
        let third = try channel.call("/a/b")
        // The calls are passed to the connection before this one.
        #expect(
            await status {
                _ = try await channel.unary("/a/b", [], options: .init(timeout: .milliseconds(50)))
            }
            .code == .deadlineExceeded)
        mayLeave.store(true, ordering: .relaxed)
        #expect(try await first == [7])
        #expect(try await second == [7])
        #expect(try await third.next() == [7])
        call.cancel()
        channel.close()
    }

    @Test func `a call that the server refuses is UNAVAILABLE`() async throws {
        let server = try RawServer { peer in
            peer.greet()
            peer.send(3, stream: peer.nextCall(), [0, 0, 0, 7])
            peer.readToEnd()
        }
        #expect(await outcome(server).code == .unavailable)
    }

    @Test func `a server that disappears ends its calls with UNAVAILABLE`() async throws {
        let server = try RawServer { peer in
            peer.greet()
            _ = peer.nextCall()
        }
        #expect(await outcome(server).code == .unavailable)
    }

    // MARK: Silent servers

    @Test func `a silent server is probed, and its connection closed if it does not answer`() async throws {
        let server = try RawServer { peer in
            peer.greet()
            _ = peer.nextCall()
            while peer.next(255, answeringPings: false) != nil {}
        }
        let status = await outcome(server) {
            $0.keepalive = GRPCKeepalive(time: .milliseconds(100), timeout: .milliseconds(100))
        }
        #expect(status == GRPCStatus(.unavailable, "The server does not answer any more."))
    }

    @Test func `a server that answers pings stays connected, and is not probed without calls`() async throws {
        let pings = Atomic(0)
        let server = try RawServer { peer in
            peer.greet()
            let stream = peer.nextCall()
            for _ in 0..<3 where peer.next(6) != nil { pings.add(1, ordering: .relaxed) }
            peer.answer(stream)
            while peer.next(6) != nil { pings.add(1, ordering: .relaxed) }
        }
        let channel = server.channel { $0.keepalive = GRPCKeepalive(time: .milliseconds(50), timeout: .seconds(30)) }
        #expect(try await channel.unary("/a/b", []) == [7])
        let before = pings.load(ordering: .relaxed)
        #expect(before >= 3)
        // The pings of another channel must not affect this one.
        let other = try RawServer { peer in
            peer.greet()
            let stream = peer.nextCall()
            for _ in 0..<10 { _ = peer.next(6) }
            peer.answer(stream)
            peer.readToEnd()
        }
        let second = other.channel { $0.keepalive = GRPCKeepalive(time: .milliseconds(50), timeout: .seconds(30)) }
        #expect(try await second.unary("/a/b", []) == [7])
        #expect(pings.load(ordering: .relaxed) - before <= 1)
        channel.close()
        second.close()
    }

    @Test func `a server that never sends a frame is abandoned at the deadline of the call`() async throws {
        let server = try RawServer { $0.readToEnd() }
        let channel = server.channel()
        let options = GRPCCallOptions(timeout: .milliseconds(200))
        let code = await status { _ = try await channel.unary("/a/b", [], options: options) }.code
        #expect(code == .deadlineExceeded)
        channel.close()
    }

    // MARK: Answers that are none

    @Test(arguments: [
        ([(":status", "502"), ("content-type", "text/html")], GRPCStatus.Code.unavailable),
        ([(":status", "404")], .unimplemented), ([(":status", "200"), ("content-type", "text/html")], .unknown),
        ([(":status", "401"), ("content-type", "application/grpc")], .unauthenticated),
    ])
    func `a proxy's answer is a status`(fields: [(String, String)], code: GRPCStatus.Code) async throws {
        for isLast in [true, false] {
            let server = try RawServer { peer in
                peer.greet()
                let stream = peer.nextCall()
                peer.headers(fields, stream: stream, isLast: isLast)
                if !isLast { peer.send(0, flags: 1, stream: stream, Array("<html>".utf8)) }
                peer.readToEnd()
            }
            let status = await outcome(server)
            #expect(status.code == code && status.isForeignAnswer)
        }
    }

    @Test func `informational responses are skipped`() async throws {
        let server = try RawServer { peer in
            peer.greet()
            let stream = peer.nextCall()
            for status in ["100", "103"] { peer.headers([(":status", status)], stream: stream) }
            peer.answer(stream)
            peer.readToEnd()
        }
        let channel = server.channel()
        #expect(try await channel.unary("/a/b", []) == [7])
        channel.close()
    }

    /// A response that a server sends, and the expected status of the call.
    private struct Answer: Sendable {
        let name: String
        let code: GRPCStatus.Code
        let send: @Sendable (RawPeer, _ stream: UInt8) -> Void

        init(_ name: String, _ code: GRPCStatus.Code, _ send: @escaping @Sendable (RawPeer, UInt8) -> Void) {
            (self.name, self.code, self.send) = (name, code, send)
        }
    }

    private static let answers = [
        Answer("no status", .internal) { peer, stream in
            peer.answerHeaders(stream)
            peer.send(0, flags: 1, stream: stream, [])
        },
        Answer("no message", .internal) { $0.answer($1, with: []) },
        Answer("two messages", .internal) { $0.answer($1, with: [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]) },
        Answer("half a message", .internal) { $0.answer($1, with: [[0, 0, 0, 0, 9, 1]]) },
        Answer("a large message", .resourceExhausted) { $0.answer($1, with: [[0, 255, 255, 255, 255]]) },
        Answer("an unknown flag", .internal) { $0.answer($1, with: [[7, 0, 0, 0, 0]]) },
        Answer("compressed without a word", .internal) { $0.answer($1, with: [[1, 0, 0, 0, 1, 1]]) },
        Answer("compressed rubbish", .internal) { $0.answer($1, with: [[1, 0, 0, 0, 1, 1]], encoding: "gzip") },
        Answer("an unknown compression", .internal) { $0.answer($1, encoding: "br") },
        Answer("large headers", .resourceExhausted) { peer, stream in
            let large = String(repeating: "a", count: 5000)
            peer.headers([(":status", "200"), ("a", large), ("b", large)], stream: stream, isLast: true)
        },
        Answer("a message ahead of its headers", .unavailable) { $0.send(0, stream: $1, [0, 0, 0, 0, 0]) },
        Answer("not HTTP/2", .unavailable) { peer, _ in peer.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)) },
        Answer("a frame for no stream", .unavailable) { peer, _ in peer.send(0, stream: 77, [1]) },
        Answer("a push", .unavailable) { $0.send(5, flags: 4, stream: $1, [0, 0, 0, 2]) },
        Answer("an odd header block", .unavailable) {
            $0.send(1, flags: 5, stream: $1, [255, 255, 255, 255, 255, 255, 255])
        },
        Answer("a window that overflows", .unavailable) { peer, _ in peer.send(8, [127, 255, 255, 255]) },
        Answer("a frame that is too long", .unavailable) { peer, _ in peer.send([255, 255, 255, 0, 0, 0, 0, 0, 1]) },
    ]

    @Test(arguments: answers.indices)
    func `an invalid answer ends its call`(index: Int) async throws {
        let answer = Self.answers[index]
        let server = try RawServer { peer in
            peer.greet()
            answer.send(peer, peer.nextCall())
            peer.readToEnd()
        }
        let status = await outcome(server) { $0.maximumMetadataSize = 8000 }
        // If the connection fails, the call may get no more specific status.
        #expect(
            status.code == answer.code || (answer.code == .unavailable && status.code == .internal),
            "\(answer.name): \(status)")
    }

    /// Checks that bytes generated from a seed do not end the process, with and without a valid
    /// start.
    @Test(arguments: 0..<40 as Range<UInt64>) func `no bytes of a server end the process`(seed: UInt64) async throws {
        let script: @Sendable (RawPeer) -> Void = { peer in
            var state = seed &* 0x9e37_79b9_7f4a_7c15 &+ 1
            func next() -> UInt8 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return UInt8(truncatingIfNeeded: state >> 32)
            }
            if seed % 4 == 0 { return peer.send((0..<2000).map { _ in next() }) }
            peer.greet()
            let stream = peer.nextCall()
            for _ in 0..<200 {
                let payload = (0..<Int(next() % 32)).map { _ in next() }
                peer.send(next() % 10, flags: next(), stream: next() % 4 == 0 ? 0 : stream, payload)
            }
        }
        let server = try RawServer(script)
        #expect(await outcome(server).code != .ok)
    }

    // MARK: Compression

    // Six hundred zeros, compressed by Python's gzip.
    private static let zeros: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 99, 96, 24, 5, 163, 128, 250, 0, 0, 35, 162, 237, 119, 88, 2, 0, 0,
    ]

    @Test func `a compressed answer is read, up to the limit of what is in it`() async throws {
        let script: @Sendable (RawPeer) -> Void = { peer in
            peer.greet()
            peer.answer(peer.nextCall(), with: [[1, 0, 0, 0, UInt8(Self.zeros.count)] + Self.zeros], encoding: "gzip")
            peer.readToEnd()
        }
        let server = try RawServer(script, script)
        let channel = server.channel { $0.maximumReceiveSize = 600 }
        #expect(try await channel.unary("/a/b", []) == [UInt8](repeating: 0, count: 600))
        channel.close()
        #expect(await outcome(server) { $0.maximumReceiveSize = 599 }.code == .resourceExhausted)
    }

    // MARK: Limits

    @Test func `a server that floods a reader is held back`() async throws {
        let sent = Atomic(0)
        let server = try RawServer { peer in
            peer.greet()
            let stream = peer.nextCall()
            peer.answerHeaders(stream)
            // Like a server that ignores flow control: 8 MiB.
            let message = [0, 0, 0, 0x3f, 0xf0] + [UInt8](repeating: 1, count: 0x3ff0)
            for _ in 0..<512 {
                peer.send(0, stream: stream, message)
                sent.add(1, ordering: .relaxed)
            }
            peer.readToEnd()
        }
        let channel = server.channel()
        let call = try channel.call("/a/b", request: [])
        #expect(await call.status().code != .ok)
        channel.close()
    }

    @Test func `a call that is cancelled before it was sent is not sent`() async throws {
        let paths = Atomic(0)
        let server = try RawServer { peer in
            peer.greet([0, 3, 0, 0, 0, 1])
            let stream = peer.nextCall()
            // The cancelled call's stream would be the next one.
            peer.answerHeaders(stream)
            _ = peer.next(0)
            peer.headers([("grpc-status", "0")], stream: stream, isLast: true)
            let last = peer.nextCall()
            paths.add(Int(last), ordering: .relaxed)
            peer.answer(last)
            peer.readToEnd()
        }
        let channel = server.channel()
        let first = try channel.call("/a/b")
        _ = await first.headers()
        let second = try channel.call("/a/second")
        second.cancel()
        #expect(await second.status().code == .cancelled)
        try await first.send([1])
        first.finish()
        #expect(await first.status() == .ok)
        #expect(try await channel.unary("/a/b", []) == [7])
        #expect(paths.load(ordering: .relaxed) > 1)
        channel.close()
    }

    // MARK: Proxies

    @Test func `a connection through a proxy leaves the name look-up to the proxy`() async throws {
        let requests = Events(of: String.self)
        let proxy = try RawServer { peer in
            requests.add(peer.readHead())
            // The server's first frame arrives together with the proxy's response.
            peer.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0])
            peer.readPreface()
            peer.answer(peer.nextCall())
            peer.readToEnd()
        }
        let channel = GRPCChannel("documents.invalid:1", configuration: GRPCChannelConfiguration()) {
            $0 == "http_proxy" ? "http://127.0.0.1:\(proxy.port)" : nil
        }
        #expect(try await channel.unary("/a/b", []) == [7])
        let request = await requests.next()
        #expect(request == "CONNECT documents.invalid:1 HTTP/1.1\r\nHost: documents.invalid:1\r\n\r\n")
        channel.close()
    }

    @Test func `a proxy that refuses is UNAVAILABLE`() async throws {
        let proxy = try RawServer(
            { peer in
                _ = peer.readHead()
                peer.send(Array("HTTP/1.1 403 Forbidden\r\n\r\n".utf8))
                peer.readToEnd()
            }, { _ = $0.readHead() })
        for reason in ["it answers with the status 403", "the proxy has closed the connection"] {
            let channel = GRPCChannel("documents.invalid:1", configuration: GRPCChannelConfiguration()) {
                $0 == "https_proxy" ? "127.0.0.1:\(proxy.port)" : nil
            }
            let status = await status { _ = try await channel.unary("/a/b", []) }
            #expect(status.code == .unavailable && status.message.contains(reason))
            channel.close()
        }
    }

    @Test func `an invalid target is UNAVAILABLE`() async {
        let channel = GRPCChannel("no target:x")
        #expect(await status { _ = try await channel.unary("/a/b", []) }.code == .unavailable)
    }
}
