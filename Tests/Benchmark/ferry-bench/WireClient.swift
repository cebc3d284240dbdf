import DocumentModel
import FirestoreProtocol
import Glibc

/// A connection that makes one unary call at a time, and waits for its answer on the caller's
/// thread.
///
/// It implements just enough of HTTP/2 (RFC 9113) and HPACK (RFC 7541). The server is to be
/// measured, on processors that both share, so the client must cost little.
final class WireClient {
    private let connection: Int32
    private var stream: UInt32 = 1
    private var input: [UInt8] = []
    /// The number of bytes received since the flow-control window was last returned to the server.
    private var taken = 0

    init(_ address: String) throws {
        let parts = address.split(separator: ":")
        guard let port = parts.last.flatMap({ in_port_t($0) }) else {
            throw Bench.Failure(description: "\(address) has no port.")
        }
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var yes: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let connected = withUnsafeBytes(of: &name) { bytes in
            connect(connection, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard connected == 0 else { throw Bench.Failure(description: "\(address) does not answer.") }
        try send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(.settings, stream: 0, []))
    }

    deinit { close(connection) }

    func commit(_ writes: [Write]) throws {
        _ = try call("Commit", CommitRequest(database: Bench.database, writes: writes).encoded())
    }

    func get(_ name: DocumentName) throws {
        let answer = try call("GetDocument", GetDocumentRequest(name: name).encoded())
        guard try EncodedDocument(decoding: answer).name == name else {
            throw Bench.Failure(description: "\(name) was not what came.")
        }
    }

    /// Returns the message of the server's answer; throws if there is none.
    private func call(_ method: String, _ message: [UInt8]) throws -> [UInt8] {
        let prefix = [0] + Self.bytes(of: UInt32(message.count))
        try send(
            Self.frame(.headers, flags: 4, stream: stream, Self.fields(of: method))
                + Self.frame(.data, flags: 1, stream: stream, prefix + message))
        var answer: [UInt8] = []
        while true {
            let frame = try next()
            switch frame.type {
            case Frame.data.rawValue: answer += frame.payload
            case Frame.settings.rawValue where frame.flags & 1 == 0:
                try send(Self.frame(.settings, flags: 1, stream: 0, []))
            case Frame.ping.rawValue where frame.flags & 1 == 0:
                try send(Self.frame(.ping, flags: 1, stream: 0, frame.payload))
            case Frame.goAway.rawValue: throw Bench.Failure(description: "The server ended a call.")
            default: break
            }
            taken += frame.payload.count
            guard frame.stream == stream, frame.flags & 1 != 0 else { continue }
            stream += 2
            if taken > 16 << 10 {
                try send(Self.frame(.window, stream: 0, Self.bytes(of: UInt32(taken))))
                taken = 0
            }
            guard answer.count >= 5 else { throw Bench.Failure(description: "The server refused a call.") }
            return Array(answer[5...])
        }
    }

    // MARK: Frames

    private enum Frame: UInt8 {
        case data = 0
        case headers = 1
        case settings = 4
        case ping = 6
        case goAway = 7
        case window = 8
    }

    private static func frame(_ type: Frame, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        var frame = Array(bytes(of: UInt32(payload.count)).dropFirst())
        frame += [type.rawValue, flags]
        frame += bytes(of: stream)
        return frame + payload
    }

    private static func bytes(of number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    /// Encodes literal fields without indexing and without Huffman coding (RFC 7541 section 6.2.2).
    private static func fields(of method: String) -> [UInt8] {
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/google.firestore.v1.Firestore/\(method)"),
            (":authority", "localhost"), ("te", "trailers"), ("content-type", "application/grpc"),
            ("authorization", "Bearer owner"),
        ]
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)]
            block += name.utf8
            block.append(UInt8(value.utf8.count))
            block += value.utf8
        }
        return block
    }

    private func next() throws -> (type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) {
        let head = try take(9)
        let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (head[3], head[4], stream, try take(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])))
    }

    /// Reads the next bytes of the connection.
    private func take(_ count: Int) throws -> [UInt8] {
        while input.count < count {
            let part = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
                Array(buffer.prefix(max(0, recv(connection, buffer.baseAddress, buffer.count, 0))))
            }
            guard !part.isEmpty else { throw Bench.Failure(description: "The server hung up.") }
            input += part
        }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    private func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Bench.Failure(description: "The server hung up.")
        }
    }
}
