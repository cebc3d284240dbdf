import Glibc
package import HTTPMessages
package import HTTPServer
package import SystemIO

/// Starts a server, calls the closure with the URL of its root, and stops the server.
package func withServer(
    _ address: HTTPServerAddress = .tcp(host: "127.0.0.1", port: 0), limits: HTTPServer.Limits = .init(),
    proxies: TrustedProxies = TrustedProxies(),
    onError: @escaping @Sendable (any Error) -> Void = { _ in }, handler: @escaping HTTPServer.Handler,
    run: (String) async throws -> Void
) async throws {
    let server = HTTPServer(address, limits: limits, proxies: proxies, onError: onError, handler: handler)
    let bound = try server.start()
    do {
        try await run("http://\(bound)")
    } catch {
        await server.stop(within: .zero)
        throw error
    }
    await server.stop(within: .seconds(5))
}

package func pattern(_ count: Int) -> [UInt8] {
    var bytes = (0..<251).map { UInt8($0) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes[..<count])
}

/// Returns the code of the `HTTPError` that the closure throws; nil if it throws none.
package func code(_ body: () async throws -> Void) async -> HTTPError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? HTTPError)?.code
    }
}

/// A queue that passes values from handlers to the test.
package struct Events<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream() }

    package func send(_ value: Value) { continuation.yield(value) }

    package func next() async -> Value? { await stream.first { _ in true } }
}

/// Runs a blocking function on a thread of its own. Dispatch has few threads, which also run the
/// tasks; if all of them block, it takes a second to add one.
private func onOwnThread(_ body: @escaping @Sendable () -> Void) {
    do {
        try WorkerThread.start(named: "test-socket", body)
    } catch {
        // The test will show the failure.
        body()
    }
}

/// A plain socket, for requests that no client library would send.
package struct RawConnection: ~Copyable {
    package let descriptor: Int32

    package init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw HTTPError(.couldNotConnect, "No server listens there.") }
    }

    deinit { close(descriptor) }

    /// Sends a text.
    ///
    /// - Parameter isFollowed: Whether the system may hold the bytes back until more bytes, or the
    ///   end, are sent with them.
    package func send(_ text: String, isFollowed: Bool = false) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(isFollowed ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL))
    }

    package func closeSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the text has arrived, or up to the end.
    package func read(until text: String) async -> String {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            onOwnThread { continuation.resume(returning: Self.read(descriptor, until: text)) }
        }
    }

    private static func read(_ descriptor: Int32, until text: String) -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: all, as: UTF8.self).contains(text) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { break }
            all += buffer[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }
}

/// A plain listening socket, for responses that no server library would send.
package struct RawListener: ~Copyable {
    package let descriptor: Int32
    package let url: String

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard listen(descriptor, 1) == 0 else { throw HTTPError(.cannotListen, "The system gave no port.") }
        withUnsafeMutablePointer(to: &name) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        url = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))/"
    }

    deinit { close(descriptor) }

    /// Sends the text to the next client that connects, and hangs up.
    package func answer(_ text: String) {
        let descriptor = descriptor
        onOwnThread {
            let peer = accept(descriptor, nil, nil)
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            shutdown(peer, Int32(SHUT_WR))
            var byte: UInt8 = 0
            while recv(peer, &byte, 1, 0) > 0 {}
            close(peer)
        }
    }
}

/// Returns the port in a URL without a path; 0 if it has none, which no server uses.
package func port(of url: String) -> Int { url.split(separator: ":").last.flatMap { Int($0) } ?? 0 }
