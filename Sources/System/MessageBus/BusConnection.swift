import CSystemd
import Glibc
import Synchronization
package import SystemIO

/// A connection to a D-Bus bus, through sd-bus of libsystemd. No call waits for the bus.
///
/// The owner calls `receive` until it returns nil, then waits with `wait`.
package final class BusConnection: Sendable {
    /// The buses of a machine.
    package enum Bus: Sendable {
        /// The bus of the user's session.
        case session
        /// The bus of the machine.
        case system
    }

    private struct Handle: @unchecked Sendable {
        // Only used while the lock is held.
        let bus: OpaquePointer
    }

    private let handle: Mutex<Handle>
    /// A second descriptor of the same socket, which stays valid until the waiting has ended.
    private let socket: FileDescriptor

    /// Connects to a bus. The handshake goes on while messages are received.
    ///
    /// - Parameter address: The address in the syntax of D-Bus; nil for the usual one of the bus.
    package init(_ bus: Bus, address: String? = nil) throws(SystemError) {
        var opened: OpaquePointer?
        let result: Int32
        if let address {
            result = Self.open(&opened, address)
        } else {
            result = bus == .session ? sd_bus_open_user(&opened) : sd_bus_open_system(&opened)
        }
        guard result >= 0, let opened else {
            throw SystemError(errno: -result, operation: "connect to", path: "the message bus")
        }
        let descriptor = sd_bus_get_fd(opened)
        let duplicate = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard duplicate >= 0 else {
            sd_bus_close_unref(opened)
            throw SystemError(errno: errno, operation: "connect to", path: "the message bus")
        }
        socket = FileDescriptor(owning: duplicate, path: "the message bus")
        handle = Mutex(Handle(bus: opened))
    }

    private static func open(_ bus: inout OpaquePointer?, _ address: String) -> Int32 {
        var result = sd_bus_new(&bus)
        if result >= 0 { result = sd_bus_set_address(bus, address) }
        if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
        if result >= 0 { result = sd_bus_start(bus) }
        if result < 0 {
            sd_bus_unref(bus)
            bus = nil
        }
        return result
    }

    deinit {
        // The thread that drops the connection must not wait for the bus.
        handle.withLock { _ = sd_bus_close_unref($0.bus) }
    }

    /// Sends a call of a method. The number of the call is that in the reply.
    ///
    /// - Parameter startsService: Whether the bus starts the service if it does not run.
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue] = [],
        startsService: Bool = false
    ) throws(SystemError) -> UInt64 {
        let result = handle.withLock { handle -> Result<UInt64, SystemError> in
            var message: OpaquePointer?
            var result = sd_bus_message_new_method_call(handle.bus, &message, destination, path, interface, method)
            defer { sd_bus_message_unref(message) }
            var cookie: UInt64 = 0
            if let message, result >= 0 {
                result = sd_bus_message_set_auto_start(message, startsService ? 1 : 0)
                for argument in arguments where result >= 0 { result = argument.append(to: message) }
                if result >= 0 { result = sd_bus_send(handle.bus, message, &cookie) }
            }
            guard result >= 0 else {
                return .failure(SystemError(errno: -result, operation: "call \(method) of", path: destination))
            }
            return .success(cookie)
        }
        return try result.get()
    }

    /// Returns the next message; nil if none has arrived.
    ///
    /// - Throws: The reason why the connection has ended.
    package func receive() throws(SystemError) -> BusMessage? {
        let result = handle.withLock { handle -> Result<BusMessage?, SystemError> in
            while true {
                var message: OpaquePointer?
                let result = sd_bus_process(handle.bus, &message)
                defer { sd_bus_message_unref(message) }
                guard result >= 0 else {
                    return .failure(SystemError(errno: -result, operation: "read from", path: "the message bus"))
                }
                if let message, let read = BusMessage(message) { return .success(read) }
                if result == 0 { return .success(nil) }
            }
        }
        return try result.get()
    }

    /// Waits until `receive` has something to do. One caller may wait at a time.
    package func wait() async throws {
        let events = handle.withLock { sd_bus_get_events($0.bus) }
        if events & POLLOUT != 0 {
            try await Poller.writable(socket)
        } else {
            try await Poller.readable(socket)
        }
    }
}
