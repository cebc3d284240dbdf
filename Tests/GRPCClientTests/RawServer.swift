import Foundation
import GRPCProtocol
import Glibc
import Synchronization
import Testing

@testable import GRPCClient

/// A minimal server that answers connections with given bytes, with a script for each connection on
/// a thread of its own.
final class RawServer: Sendable {
    let port: Int
    private let listener: Int32
    /// The number of accepted connections.
    let accepted = Atomic(0)

    /// Starts the server.
    ///
    /// - Parameter scripts: The scripts of the first connection, the second, and so on. Further
    ///   connections are closed.
    init(_ scripts: (@Sendable (RawPeer) -> Void)...) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isBound)
        port = Int(in_port_t(bigEndian: name.sin_port))
        Thread.detachNewThread { [weak self] in
            var scripts = scripts[...]
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                self?.accepted.add(1, ordering: .relaxed)
                guard let script = scripts.popFirst() else {
                    close(connection)
                    continue
                }
                Thread.detachNewThread {
                    script(RawPeer(connection))
                    close(connection)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    func channel(
        _ change: (inout GRPCChannelConfiguration) -> Void = { _ in }
    ) -> GRPCChannel {
        var configuration = GRPCChannelConfiguration()
        configuration.reconnectBackoff = .milliseconds(10) ... .milliseconds(10)
        change(&configuration)
        return GRPCChannel("127.0.0.1:\(port)", configuration: configuration)
    }
}

/// A connection to a client. Its methods block.
struct RawPeer: Sendable {
    private let connection: Int32

    init(_ connection: Int32) { self.connection = connection }

    struct Frame: Sendable {
        let type: UInt8
        let flags: UInt8
        let stream: UInt8
        let payload: [UInt8]
    }

    func send(_ bytes: [UInt8]) { _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    func send(_ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []) {
        let size = payload.count
        send(
            [UInt8(size >> 16 & 255), UInt8(size >> 8 & 255), UInt8(size & 255), type, flags, 0, 0, 0, stream] + payload
        )
    }

    /// Reads the client's preface and sends the server's settings.
    func greet(_ settings: [UInt8] = []) {
        readPreface()
        send(4, settings)
    }

    func readPreface() { _ = read(24) }

    /// Reads a head up to its empty line.
    func readHead() -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), let byte = read(1) { head += byte }
        return String(decoding: head, as: UTF8.self)
    }

    /// Returns the next frame of a type, or nil at the end of the connection. Settings and pings
    /// are acknowledged.
    func next(_ type: UInt8, answeringPings: Bool = true) -> Frame? {
        while let head = read(9), let payload = read(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])) {
            let frame = Frame(type: head[3], flags: head[4], stream: head[8], payload: payload)
            if frame.type == 4, frame.flags & 1 == 0 { send(4, flags: 1) }
            if frame.type == 6, frame.flags & 1 == 0, answeringPings { send(6, flags: 1, payload) }
            if frame.type == type { return frame }
        }
        return nil
    }

    /// Returns the stream of the next request.
    func nextCall() -> UInt8 { next(1)?.stream ?? 0 }

    /// Reads until the client closes the connection.
    func readToEnd() { while next(255) != nil {} }

    func headers(_ fields: [(String, String)], stream: UInt8, isLast: Bool = false) {
        var block: [UInt8] = []
        // Literal fields without indexing (RFC 7541 section 6.2.2). Lengths of 127 and more take
        // several bytes (section 5.1).
        func text(_ text: String) {
            var rest = text.utf8.count
            if rest < 127 {
                block.append(UInt8(rest))
            } else {
                block.append(127)
                rest -= 127
                while rest >= 128 {
                    block.append(UInt8(rest & 127) | 128)
                    rest >>= 7
                }
                block.append(UInt8(rest))
            }
            block += text.utf8
        }
        for (name, value) in fields {
            block.append(0)
            text(name)
            text(value)
        }
        send(1, flags: isLast ? 5 : 4, stream: stream, block)
    }

    func answer(_ stream: UInt8, with messages: [[UInt8]] = [[0, 0, 0, 0, 1, 7]], encoding: String? = nil) {
        answerHeaders(stream, encoding: encoding)
        for message in messages { send(0, stream: stream, message) }
        headers([("grpc-status", "0")], stream: stream, isLast: true)
    }

    func answerHeaders(_ stream: UInt8, encoding: String? = nil) {
        headers(
            [(":status", "200"), ("content-type", "application/grpc")]
                + (encoding.map { [("grpc-encoding", $0)] } ?? []),
            stream: stream)
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }
}
