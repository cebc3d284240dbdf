import CMicroHTTPD
import Glibc
import HTTPMessages
import SystemIO

/// A libmicrohttpd daemon that runs on a network loop and passes its callbacks to exchanges.
///
/// `@unchecked Sendable`: after initialization it is used on the loop's thread only.
final class Daemon: NetworkSource, @unchecked Sendable {
    /// The descriptor of libmicrohttpd's epoll set.
    let descriptor: Int32
    private let pointer: OpaquePointer
    private let loop: NetworkLoop
    private let core: Unmanaged<ServerCore>
    private var isQuiet = false
    private var isClosed = false

    init(_ socket: ListeningSocket, _ tls: HTTPServerTLS?, on loop: NetworkLoop, _ core: ServerCore) throws {
        self.loop = loop
        self.core = .passRetained(core)
        var configuration = ferry_mhd_configuration()
        configuration.listen_descriptor = socket.descriptor
        let limits = core.settings.limits
        // Connections that were replaced count until libmicrohttpd sees their end, hence the
        // surplus.
        configuration.connection_limit = UInt32(clamping: max(1, limits.connections) &* 2 &+ 64)
        configuration.idle_timeout_seconds = UInt32(clamping: max(1, limits.idle.components.seconds))
        configuration.connection_memory = max(4 << 10, limits.connectionMemory)
        configuration.context = self.core.toOpaque()
        configuration.admit = { context, address, length in
            guard let core = ServerCore.from(context) else { return .NO }
            return core.admit(SocketName(address, length)) ? .YES : .NO
        }
        configuration.connection = { context, connection, socketContext, event in
            guard let core = ServerCore.from(context), let connection, let socketContext else { return }
            if event == .CONNECTION_NOTIFY_STARTED {
                let opened = core.open(ferry_mhd_descriptor(connection))
                socketContext.pointee = opened.map { Unmanaged.passRetained($0).toOpaque() }
            } else if let opened = socketContext.pointee {
                socketContext.pointee = nil
                core.close(Unmanaged<Connection>.fromOpaque(opened))
            }
        }
        configuration.open_request = { context, target, connection in
            guard let core = ServerCore.from(context), let target, let connection else { return nil }
            let opened = ferry_mhd_socket_context(connection).map {
                Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue()
            }
            let exchange = Exchange(core, opened, connection, target: target)
            return Unmanaged.passRetained(exchange).toOpaque()
        }
        configuration.close_request = { _, _, exchange, reason in
            guard let exchange, let opened = exchange.pointee else { return }
            exchange.pointee = nil
            let closed = Unmanaged<Exchange>.fromOpaque(opened).takeRetainedValue()
            closed.detach(isComplete: reason == .REQUEST_TERMINATED_COMPLETED_OK)
        }
        configuration.access = { _, _, _, method, version, data, size, exchange in
            guard let opened = exchange?.pointee, let size, let method, let version else { return .NO }
            let exchange = Unmanaged<Exchange>.fromOpaque(opened).takeUnretainedValue()
            let bytes = UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size.pointee)
            size.pointee = 0
            return exchange.advance(method: method, version: version, data: bytes) ? .YES : .NO
        }
        let started = Self.start(&configuration, tls)
        guard let started else {
            self.core.release()
            let remedy = tls == nil ? "" : " Check that the certificate and the key are PEM and belong together."
            throw HTTPError(.cannotListen, "The HTTP server on \(socket.address) could not be started.\(remedy)")
        }
        pointer = started
        descriptor = ferry_mhd_poll(started)
    }

    deinit { core.release() }

    private static func start(_ configuration: inout ferry_mhd_configuration, _ tls: HTTPServerTLS?) -> OpaquePointer? {
        guard let tls else { return ferry_mhd_start(&configuration) }
        return tls.certificates.withCString { certificates in
            tls.key.withCString { key in
                configuration.certificate = certificates
                configuration.key = key
                return ferry_mhd_start(&configuration)
            }
        }
    }

    // MARK: On the loop's thread, or before it runs

    func open() -> Bool {
        advance()
        return loop.watch(self)
    }

    func ready(toRead: Bool, toWrite: Bool) { advance() }

    func send() { advance() }

    func check(at now: ContinuousClock.Instant) {
        guard !isClosed else { return }
        core.takeUnretainedValue().check(at: now)
        advance()
    }

    /// Runs libmicrohttpd once, and schedules the next run for when it asks for one.
    func advance() {
        guard !isClosed, MHD_run(pointer) == .YES else { return }
        core.takeUnretainedValue().hasRun()
        var milliseconds: CUnsignedLongLong = 0
        guard MHD_get_timeout(pointer, &milliseconds) == .YES else { return }
        if milliseconds == 0 {
            loop.sendSoon(self)
        } else {
            loop.check(at: .now + .milliseconds(Int64(clamping: milliseconds)))
        }
    }

    /// Takes over a connection, of which nothing has been read, and its descriptor.
    func adopt(_ descriptor: Int32) {
        guard !isClosed, !isQuiet, let name = SocketName(of: descriptor, getpeername) else {
            _ = Glibc.close(descriptor)
            return
        }
        // It closes the descriptor if it does not want the connection.
        _ = name.with { MHD_add_connection(pointer, descriptor, $0, $1) }
        advance()
    }

    /// Stops accepting connections. The listening socket belongs to the caller again.
    func quiesce() {
        if !isQuiet { _ = MHD_quiesce_daemon(pointer) }
        isQuiet = true
    }

    /// Closes all connections, none of which may be suspended.
    func close() {
        // Otherwise libmicrohttpd would close the listening socket.
        quiesce()
        isClosed = true
        loop.forget(self)
        MHD_stop_daemon(pointer)
    }
}
