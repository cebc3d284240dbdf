import GRPCServer
import Glibc
import HTTPMessages
import HTTPServer

// What clients send to the servers themselves, as they parse it: over a socket, to a server that runs in this process.

/// The bytes of a connection over HTTP. A request's handler must have seen no header that could be read in two ways.
func decodeHTTPConnection(_ input: [UInt8]) {
    exchange(input, with: httpPort)
}

/// Frames of HTTP/2 after the client's preface and its settings.
func decodeGRPCConnection(_ input: [UInt8]) {
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
    exchange(preface + input, with: grpcPort)
}

private let httpPort: Int = {
    do {
        guard case .tcp(_, let port) = try httpServer.start() else { return 0 }
        return port
    } catch { fatalError("The server cannot be started: \(error)") }
}()

private let httpServer = HTTPServer(.tcp(host: "127.0.0.1", port: 0), runsHandlersOnLoop: true) { request in
    check(request.headers.framingProblem == nil && request.headers.areValid, "ambiguous fields came to the handler")
    check(!request.target.path.utf8.contains(0), "a NUL byte came to the handler")
    return .text(.ok, "\(try await request.body.collect(limit: 4096).count)\n")
}

private let grpcPort: Int = {
    do { return try grpcServer.start() } catch { fatalError("The server cannot be started: \(error)") }
}()

private let grpcServer = GRPCServer { call in
    while let message = try await call.next() { try await call.send(message) }
}

/// Sends the bytes, ends, and reads what is answered.
private func exchange(_ bytes: [UInt8], with port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    // Closed with a reset, as the ports of connections that end in turn are used up within a minute.
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    var patience = timeval(tv_sec: 0, tv_usec: 20_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(truncatingIfNeeded: port).bigEndian)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    // The fuzzer's clock interrupts.
    guard code == 0 || errno != EINTR else { return }
    check(code == 0, "the server takes no connections any more")
    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(descriptor, Int32(SHUT_WR))
    var buffer = [UInt8](repeating: 0, count: 4096)
    while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
}
