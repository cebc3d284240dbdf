import CLinux
import Glibc

/// Stream sockets of unix(7), addressed by path.
package enum UnixSocket {
    /// Binds a socket and listens. Only this user can connect unless `mode` permits more.
    ///
    /// Replaces a socket file that a dead process left. Throws `.addressInUse` if a process answers
    /// on it, and `.exists` if the file is not a socket.
    ///
    /// Two processes that start at the same time may both find the old socket dead: hold a
    /// `FileLock` during the call.
    package static func listen(_ path: String, mode: UInt32 = 0o600) throws(SystemError) -> FileDescriptor {
        try removeDead(path)
        let socket = try make(path)
        // Set before the bind, so that the file never exists with a wider mode.
        try socket.changeMode(mode)
        guard try withAddress(path, { bind(socket.rawValue, $0, $1) }) == 0 else { throw .last("listen on", path) }
        guard chmod(path, mode_t(mode)) == 0, Glibc.listen(socket.rawValue, 128) == 0 else {
            throw .last("listen on", path)
        }
        return socket
    }

    /// Connects to a socket. Throws `.notFound` if it does not exist and `.unreachable` if no
    /// process listens on it.
    ///
    /// - Parameter timeout: The longest wait, in whole seconds, for a process that listens but does
    ///   not accept; nil is no limit. A later send that blocks has the same limit.
    package static func connect(_ path: String, timeout: Duration? = nil) throws(SystemError) -> FileDescriptor {
        let socket = try make(path)
        if let timeout {
            var limit = timeval(tv_sec: Int(clamping: timeout.components.seconds), tv_usec: 0)
            setsockopt(socket.rawValue, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard try withAddress(path, { address, size in retry { Glibc.connect(socket.rawValue, address, size) } }) == 0
        else { throw .last("connect to", path) }
        return socket
    }

    /// Blocks until the next client connects.
    package static func accept(_ listener: borrowing FileDescriptor) throws(SystemError) -> FileDescriptor {
        let raw = retry { Glibc.accept(listener.rawValue, nil, nil) }
        guard raw >= 0 else { throw .last("accept from", listener.path) }
        ferry_set_close_on_exec(raw)
        return FileDescriptor(owning: raw, path: listener.path)
    }

    /// Sends bytes and returns how many the kernel took; 0 if a socket that does not block has no
    /// room. Throws `.closed` if the peer has closed its end, without the signal SIGPIPE.
    package static func send(_ bytes: ArraySlice<UInt8>, to socket: borrowing FileDescriptor) throws(SystemError) -> Int
    {
        let count = bytes.withUnsafeBytes { buffer in
            retry { Glibc.send(socket.rawValue, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
        }
        if count < 0, errno == EAGAIN { return 0 }
        guard count >= 0 else { throw .last("send to", socket.path) }
        return count
    }

    /// Receives at most `limit` bytes; none at the end of the stream. Returns nil if a socket that
    /// does not block has none yet.
    package static func receive(
        upTo limit: Int, from socket: borrowing FileDescriptor
    ) throws(SystemError) -> [UInt8]? {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, limit)) { buffer, count in
            let received = retry { recv(socket.rawValue, buffer.baseAddress, buffer.count, 0) }
            if received < 0 { failure = .last("receive from", socket.path) }
            count = max(0, received)
        }
        guard let failure else { return bytes }
        if failure.errno == EAGAIN { return nil }
        throw failure
    }

    private static func removeDead(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            _ = try connect(path)
        } catch {
            switch error.errno {
            case ENOENT: return
            case ECONNREFUSED:
                guard try FileSystem.status(path).kind == .socket else {
                    throw SystemError(
                        .exists, operation: "listen on", path: path,
                        remedy: "The path is taken by a file that is not a socket; remove it or choose another path")
                }
                try FileSystem.remove(path)
                return
            default: throw error
            }
        }
        throw SystemError(
            errno: EADDRINUSE, operation: "listen on", path: path)
    }

    private static func make(_ path: String) throws(SystemError) -> FileDescriptor {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard raw >= 0 else { throw .last("make a socket for", path) }
        return FileDescriptor(owning: raw, path: path)
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SystemError) -> Int32 {
        try checkPath(path, operation: "use the socket")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < capacity else {
            throw SystemError(
                .invalidName, operation: "use the socket", path: path,
                remedy: "A socket's path may have at most \(capacity - 1) bytes; choose a shorter directory")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
