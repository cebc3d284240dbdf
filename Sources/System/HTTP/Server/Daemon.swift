import CMicroHTTPD

/// libmicrohttpd's daemon with its threads, and the way from its callbacks to exchanges.
///
/// `@unchecked Sendable`: the pointer is set once; `MHD_quiesce_daemon` and `MHD_stop_daemon` may be called from any
/// thread, and `HTTPServer` calls each once and in this order.
final class Daemon: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let core: Unmanaged<ServerCore>

    init(_ socket: ListeningSocket, _ tls: HTTPServer.TLS?, _ threads: Int, _ core: ServerCore) throws {
        self.core = .passRetained(core)
        var configuration = ferry_mhd_configuration()
        configuration.listen_descriptor = socket.descriptor
        configuration.threads = UInt32(clamping: threads)
        configuration.connection_limit = UInt32(clamping: max(1, core.limits.connections))
        configuration.connection_limit_per_address = UInt32(clamping: core.limits.connectionsPerAddress)
        configuration.idle_timeout_seconds = UInt32(clamping: max(1, core.limits.idle.components.seconds))
        configuration.connection_memory = max(4 << 10, core.limits.connectionMemory)
        configuration.context = self.core.toOpaque()
        configuration.connection = { context, connection, socketContext, event in
            guard let core = ServerCore.from(context), let connection, let socketContext else { return }
            if event == .CONNECTION_NOTIFY_STARTED {
                socketContext.pointee = core.open(ferry_mhd_descriptor(connection)).toOpaque()
            } else if let opened = socketContext.pointee {
                core.close(Unmanaged<Connection>.fromOpaque(opened))
            }
        }
        configuration.open_request = { context, target, connection in
            guard let core = ServerCore.from(context), let target, let connection else { return nil }
            let opened = ferry_mhd_socket_context(connection).map {
                Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue()
            }
            let exchange = Exchange(core, opened, connection, target: String(cString: target))
            return Unmanaged.passRetained(exchange).toOpaque()
        }
        configuration.close_request = { _, _, exchange, reason in
            guard let exchange, let opened = exchange.pointee else { return }
            exchange.pointee = nil
            let closed = Unmanaged<Exchange>.fromOpaque(opened).takeRetainedValue()
            closed.detach(isComplete: reason == .REQUEST_TERMINATED_COMPLETED_OK)
        }
        configuration.access = { _, _, _, method, _, data, size, exchange in
            guard let opened = exchange?.pointee, let size, let method else { return .NO }
            let exchange = Unmanaged<Exchange>.fromOpaque(opened).takeUnretainedValue()
            let bytes = UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : size.pointee)
            size.pointee = 0
            return exchange.advance(method: method, data: bytes) ? .YES : .NO
        }
        let started = Self.start(&configuration, tls)
        guard let started else {
            self.core.release()
            let remedy = tls == nil ? "" : " Check that the certificate and the key are PEM and belong together."
            throw HTTPError(.cannotListen, "The HTTP server on \(socket.address) could not be started.\(remedy)")
        }
        pointer = started
    }

    deinit { core.release() }

    private static func start(_ configuration: inout ferry_mhd_configuration, _ tls: HTTPServer.TLS?) -> OpaquePointer?
    {
        guard let tls else { return WorkerThread.withSignalsBlocked { ferry_mhd_start(&configuration) } }
        return tls.certificates.withCString { certificates in
            tls.key.withCString { key in
                configuration.certificate = certificates
                configuration.key = key
                return WorkerThread.withSignalsBlocked { ferry_mhd_start(&configuration) }
            }
        }
    }

    /// Takes no more connections; the listening socket is the caller's again.
    func quiesce() { _ = MHD_quiesce_daemon(pointer) }

    /// Closes all connections, none of which may be suspended, and ends the threads.
    func stop() async {
        await withCheckedContinuation { continuation in
            // Joins threads, which must not hold up the cooperative pool.
            let isStarted = WorkerThread.start(named: "http-stop") {
                MHD_stop_daemon(self.pointer)
                continuation.resume()
            }
            if !isStarted {
                MHD_stop_daemon(pointer)
                continuation.resume()
            }
        }
    }
}
