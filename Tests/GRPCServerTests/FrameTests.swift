import Foundation
import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Glibc
import Synchronization
import Testing

/// Tests of the frames on the wire, by which clients distinguish cases that the core hides.
@Suite(.timeLimit(.minutes(1))) struct FrameTests {
    /// Checks that an error of a stream follows its headers, because some clients take a status
    /// without headers for a refusal that is safe to retry.
    @Test func `a stream's error comes after headers of its own`() async throws {
        for routes in [
            GRPCRoutes.streaming { _ in throw GRPCStatus(.permissionDenied) },
            GRPCRoutes.streaming { $0.finish(GRPCStatus(.permissionDenied)) },
        ] {
            try await withServer(routes: routes) { channel in
                let frames = try await RawClient(channel.target).framesOfCall("/test/Call")
                #expect(frames == ["HEADERS", "HEADERS END_STREAM"])
            }
        }
    }

    @Test func `a unary error is one frame`() async throws {
        try await withServer(routes: .unary { _, _ in throw GRPCStatus(.permissionDenied) }) { channel in
            let frames = try await RawClient(channel.target).framesOfCall("/test/Call")
            #expect(frames == ["HEADERS END_STREAM"])
        }
    }

    @Test func `an answer is headers, a message and a status`() async throws {
        try await withServer { channel in
            let frames = try await RawClient(channel.target).framesOfCall("/test.Echo/Unary")
            #expect(frames == ["HEADERS", "DATA", "HEADERS END_STREAM"])
        }
    }

    @Test func `a request that is not a call gets an HTTP status, and the connection stays in use`() async throws {
        try await withServer { channel in
            let client = try RawClient(channel.target)
            #expect(try await client.framesOfCall("/test.Echo/Unary", type: "text/html") == ["HEADERS END_STREAM"])
            #expect(try await client.framesOfCall("/test.Echo/Unary", encoding: "br") == ["HEADERS END_STREAM"])
            #expect(try await channel.unary("/test.Echo/Unary", [1]) == [1])
        }
    }

    @Test func `a message that is not whole ends its call`() async throws {
        try await withServer { channel in
            let frames = try await RawClient(channel.target).framesOfCall(
                "/test.Echo/Unary", message: [0, 0, 0, 0, 9, 1])
            #expect(frames == ["HEADERS END_STREAM"])
        }
    }

    @Test func `a client that does not speak HTTP/2 is disconnected`() async throws {
        try await withServer { channel in
            let client = try RawClient(channel.target)
            #expect(try await client.answer(to: Array("GET / HTTP/1.1\r\nHost: here\r\n\r\n".utf8)).isEmpty)
            // A frame over the maximum length.
            let frames = try await client.framesAfter([255, 255, 255, 0, 0, 0, 0, 0, 1])
            #expect(frames.contains("GOAWAY"))
            #expect(try await channel.unary("/test.Echo/Unary", [1]) == [1])
        }
    }

    @Test func `a client is held back while its messages are not read`() async throws {
        let (begun, rest) = (Events(of: Void.self), Events(of: Int.self))
        let goOn = Events(of: Void.self)
        let routes = GRPCRoutes.streaming { call in
            begun.add(())
            _ = await goOn.next()
            var count = 0
            while try await call.next() != nil { count += 1 }
            rest.add(count)
        }
        try await withServer(routes: routes) { channel in
            let sent = Atomic(0)
            let call = try channel.call("/test/Call")
            _ = await begun.next()
            let sender = Task {
                for _ in 0..<1000 {
                    try await call.send([UInt8](repeating: 1, count: 16 << 10))
                    sent.add(1, ordering: .relaxed)
                }
                call.finish()
            }
            // The round trips of another call give the server time to send whatever it would send.
            for _ in 0..<200 { _ = await status { _ = try await channel.unary("/no/Such", []) } }
            #expect(sent.load(ordering: .relaxed) < 500)
            goOn.add(())
            try await sender.value
            #expect(await rest.next() == 1000)
        }
    }

    @Test func `unfinished messages are limited`() async throws {
        var small = GRPCServerConfiguration()
        small.maximumReceiveSize = 200
        try await withServer(small) { channel in
            // 900 of 800 allowed bytes.
            let frames = try await RawClient(channel.target).framesOfUnfinishedCalls(
                "/test.Echo/Unary", count: 6, announcing: 200, sending: 150)
            #expect(frames.first == "11 HEADERS END_STREAM")
            #expect(frames.filter { $0.hasPrefix("1 ") } == ["1 HEADERS", "1 DATA", "1 HEADERS END_STREAM"])
            #expect(try await channel.unary("/test.Echo/Unary", [1]) == [1])
        }
    }

    @Test func `pings each ten seconds would be permitted, a flood is not`() async throws {
        #expect(GRPCServerConfiguration().minimumPingInterval < .seconds(10))
        var patient = GRPCServerConfiguration()
        patient.minimumPingInterval = .zero
        try await withServer(patient) { channel in
            let frames = try await RawClient(channel.target).framesAfterPings(20) {
                $0.count { $0 == "PING ACK" } == 20
            }
            #expect(!frames.contains("GOAWAY"))
        }
        try await withServer { channel in
            let frames = try await RawClient(channel.target).framesAfterPings(20) { $0.contains("GOAWAY") }
            #expect(frames.contains("GOAWAY"))
        }
    }
}

/// A minimal HTTP/2 client (RFC 9113) that makes calls without TLS and shows the frames of the
/// response.
struct RawClient: Sendable {
    private let port: in_port_t

    init(_ target: String) throws {
        port = try #require(target.split(separator: ":").last.flatMap { in_port_t($0) })
    }

    /// Calls a method with an empty message, and returns the frames of the call's stream up to its
    /// end.
    func framesOfCall(
        _ path: String, type: String = "application/grpc", encoding: String = "identity",
        message: [UInt8] = [0, 0, 0, 0, 0]
    ) async throws -> [String] {
        let request =
            headers(path, type: type, encoding: encoding, stream: 1)
            + frame(type: 0, flags: 1, stream: 1, message)
        return try await exchange(request) {
            $0.stream == 1
        } until: {
            $0.last?.hasSuffix("END_STREAM") == true
        }
    }

    /// Starts calls whose messages announce a size and send less, then sends the rest of the first
    /// one. Returns the frames up to the second end of a call.
    func framesOfUnfinishedCalls(_ path: String, count: UInt8, announcing size: UInt8, sending sent: UInt8) async throws
        -> [String]
    {
        var request: [UInt8] = []
        for call in 0..<count {
            let part = [0, 0, 0, 0, size] + [UInt8](repeating: 1, count: Int(sent))
            request += headers(path, stream: 2 * call + 1) + frame(type: 0, flags: 0, stream: 2 * call + 1, part)
        }
        request += frame(type: 0, flags: 1, stream: 1, [UInt8](repeating: 1, count: Int(size - sent)))
        return try await exchange(request, named: { "\($0.stream) \($0.name)" }) {
            $0.stream != 0
        } until: { names in
            names.count { $0.hasSuffix("HEADERS END_STREAM") } == 2
        }
    }

    /// A part of what a client sends. Each call uses the next stream, and data belong to the last
    /// call.
    enum Part: Sendable {
        case settingsAnswer
        /// Settings that keep the server from sending any message.
        case noWindow
        case call(String, fields: [(String, String)] = [])
        case data([UInt8])
    }

    private func bytes(_ parts: [Part]) -> [UInt8] {
        var stream: UInt8 = 255
        return parts.flatMap { part -> [UInt8] in
            switch part {
            case .settingsAnswer: return frame(type: 4, flags: 1, stream: 0, [])
            case .noWindow: return frame(type: 4, flags: 0, stream: 0, [0, 4, 0, 0, 0, 0])
            case .call(let path, let fields):
                stream &+= 2
                return headers(path, stream: stream, more: fields)
            case .data(let bytes): return frame(type: 0, flags: 0, stream: stream, bytes)
            }
        }
    }

    /// Returns the frames of all streams until `isEnough`, or until the connection is closed.
    func frames(
        of parts: [Part], until isEnough: @escaping @Sendable ([String]) -> Bool
    ) async throws -> [String] {
        try await exchange(bytes(parts), of: { $0.stream != 0 || $0.type == 7 }, until: isEnough)
    }

    /// Opens a connection that sends these parts and reads nothing. The caller closes it.
    func open(_ parts: [Part]) -> Int32 {
        let greeting = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(type: 4, flags: 0, stream: 0, [])
        return connection(sending: greeting + bytes(parts))
    }

    private func headers(
        _ path: String, type: String = "application/grpc", encoding: String = "identity", stream: UInt8,
        more: [(String, String)] = []
    ) -> [UInt8] {
        let fields =
            [
                (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"), ("te", "trailers"),
                ("content-type", type), ("grpc-encoding", encoding),
            ] + more
        // Literal fields without indexing and without Huffman coding (RFC 7541 section 6.2.2).
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)] + Array(name.utf8)
            block += [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        return frame(type: 1, flags: 4, stream: stream, block)
    }

    /// Sends pings, and returns the frames of the connection until `isEnough`, or until it is
    /// closed.
    func framesAfterPings(
        _ count: Int, until isEnough: @escaping @Sendable ([String]) -> Bool
    ) async throws -> [String] {
        let ping = frame(type: 6, flags: 0, stream: 0, [UInt8](repeating: 0, count: 8))
        return try await exchange((0..<count).flatMap { _ in ping }, of: { $0.stream == 0 }, until: isEnough)
    }

    /// Sends bytes, and returns the frames of the connection until it is closed.
    func framesAfter(_ bytes: [UInt8]) async throws -> [String] {
        try await exchange(bytes, of: { $0.stream == 0 }, until: { _ in false })
    }

    /// Sends only these bytes, and returns the frames of all calls until the connection is closed.
    func answer(to bytes: [UInt8]) async throws -> [String] {
        try await exchange(bytes, greeting: [], of: { $0.stream != 0 }, until: { _ in false })
    }

    struct Frame {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        var name: String {
            switch (type, flags & 1) {
            case (0, let end): end == 0 ? "DATA" : "DATA END_STREAM"
            case (1, let end): end == 0 ? "HEADERS" : "HEADERS END_STREAM"
            case (3, _): "RST_STREAM"
            case (6, let isAnswer): isAnswer == 0 ? "PING" : "PING ACK"
            case (7, _): "GOAWAY"
            default: "\(type)"
            }
        }
    }

    private func frame(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, 0, stream] + payload
    }

    /// Runs an exchange on a thread of its own, because reading blocks, and the handler under test
    /// needs the shared threads.
    private func exchange(
        _ request: [UInt8], greeting: [UInt8]? = nil, named name: @escaping @Sendable (Frame) -> String = { $0.name },
        of isWanted: @escaping @Sendable (Frame) -> Bool,
        until isEnough: @escaping @Sendable ([String]) -> Bool
    ) async throws -> [String] {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let greeting = greeting ?? preface + frame(type: 4, flags: 0, stream: 0, [])
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let connection = connection(sending: greeting + request)
                defer { close(connection) }
                var names: [String] = []
                while !isEnough(names), let frame = readFrame(connection) {
                    if isWanted(frame) { names.append(name(frame)) }
                }
                continuation.resume(returning: names)
            }
        }
    }

    /// Opens a connection, which the caller closes.
    func connection(sending bytes: [UInt8]) -> Int32 {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        _ = withUnsafeBytes(of: &address) { bytes in
            connect(
                connection, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        return connection
    }

    private func readFrame(_ connection: Int32) -> Frame? {
        guard let head = read(connection, 9) else { return nil }
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard read(connection, length) != nil else { return nil }
        let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Frame(type: head[3], flags: head[4], stream: stream)
    }

    private func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }
}
