import Glibc
package import HTTPMessages
package import HTTPServer
package import SystemIO

/// Runs a server for as long as the closure runs, and stops it. The closure gets the URL of its root.
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

package func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/ferry-http-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw SystemError(errno: errno, operation: "mkdtemp") }
    let path = String(cString: made)
    defer {
        for name in ["socket", "file", "key.pem", "certificate.pem"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }
    try await body(path)
}

package func pattern(_ count: Int) -> [UInt8] {
    var bytes = (0..<251).map { UInt8($0) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes[..<count])
}

/// The code of the `HTTPError` that the closure throws; nil where it throws none.
package func code(_ body: () async throws -> Void) async -> HTTPError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? HTTPError)?.code
    }
}

/// Passes values from handlers to the test, which awaits them in turn.
package struct Events<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream() }

    package func send(_ value: Value) { continuation.yield(value) }

    package func next() async -> Value? { await stream.first { _ in true } }
}

/// For what blocks. Dispatch's threads are few and run the tasks, too: where they all block, it takes a second to add one.
private func onOwnThread(_ body: @escaping @Sendable () -> Void) {
    do {
        try WorkerThread.start(named: "test-socket", body)
    } catch {
        // The test shows what does not work.
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

    /// - Parameter isFollowed: the system may hold the bytes back until more goes with them, or the end.
    package func send(_ text: String, isFollowed: Bool = false) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(isFollowed ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL))
    }

    package func closeSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the text has come, or the end.
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

/// A plain listening socket, for answers that no server library would give.
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

    /// Says this to the next one who connects, and hangs up.
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

/// Returns the port that a URL without a path names; 0 if it names none, which no server has.
package func port(of url: String) -> Int { url.split(separator: ":").last.flatMap { Int($0) } ?? 0 }
