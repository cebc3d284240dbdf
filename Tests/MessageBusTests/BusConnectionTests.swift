import Foundation
import SystemIO
import Testing

@testable import MessageBus

@Suite("Connections to a message bus")
struct BusConnectionTests {
    /// A dbus-daemon of its own.
    private final class Daemon {
        let address: String
        private let process = Process()

        init() throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
            process.arguments = ["--session", "--nofork", "--print-address=1"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            address = line.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        deinit {
            kill(process.processIdentifier, SIGKILL)
        }
    }

    private static let bus = "org.freedesktop.DBus"

    private func next(_ connection: BusConnection, where isWanted: (BusMessage.Kind) -> Bool) async throws -> BusMessage
    {
        while true {
            while let message = try connection.receive() { if isWanted(message.kind) { return message } }
            try await connection.wait()
        }
    }

    @Test("A call is answered, a wrong one fails, and a signal arrives", .timeLimit(.minutes(1)))
    func calls() async throws {
        let daemon = try Daemon()
        let connection = try BusConnection(.session, address: daemon.address)
        let names = try connection.call(Self.bus, "/org/freedesktop/DBus", Self.bus, "ListNames")
        let reply = try await next(connection) { $0 == .reply(to: names) }
        let listed = reply.body.first?.arrayValue ?? []
        #expect(listed.contains(.string(Self.bus)) && reply.sender == Self.bus)
        let wrong = try connection.call(
            "org.example.Nothing", "/", "org.example.Nothing", "Do", [.structure([.string("x"), .byte(1)])])
        let failure = try await next(connection) { if case .failure(of: wrong, _) = $0 { true } else { false } }
        #expect(failure.kind == .failure(of: wrong, name: "org.freedesktop.DBus.Error.NameHasNoOwner"))
        _ = try connection.call(
            Self.bus, "/org/freedesktop/DBus", Self.bus, "RequestName", [.string("org.example.Ferry"), .uint32(0)])
        let signal = BusMessage.Kind.signal(interface: Self.bus, name: "NameAcquired")
        #expect(try await next(connection) { $0 == signal }.body == [.string("org.example.Ferry")])
    }

    @Test("All kinds of values are written and read", .timeLimit(.minutes(1)))
    func values() async throws {
        let daemon = try Daemon()
        let (sender, receiver) = (
            try BusConnection(.session, address: daemon.address), try BusConnection(.session, address: daemon.address)
        )
        let name = try receiver.call(
            Self.bus, "/org/freedesktop/DBus", Self.bus, "RequestName", [.string("org.example.Ferry"), .uint32(0)])
        _ = try await next(receiver) { $0 == .reply(to: name) }
        let values: [BusValue] = [
            .byte(7), .boolean(true), .int32(-5), .uint32(5), .int64(.min), .uint64(.max), .double(0.5),
            .string("a ü 🔔"),
            .objectPath("/a/b"), .strings([]), .strings(["x", "y"]),
            .options(["urgency": .byte(1), "name": .string("z")]),
            .array([.structure([.string("p"), .strings(["q"]), .boolean(false)])], of: "(sasb)"),
            .variant(.array([.entry(key: .string("k"), .int32(1))], of: "{si}")),
        ]
        _ = try sender.call("org.example.Ferry", "/a", "org.example.Ferry", "Take", values)
        while try sender.receive() != nil {}
        let sending = Task { while true { while try sender.receive() != nil {}; try await sender.wait() } }
        defer { sending.cancel() }
        #expect(try await next(receiver) { $0 == .call }.body == values)
    }

    @Test("The end of the bus is told", .timeLimit(.minutes(1)))
    func ends() async throws {
        var daemon: Daemon? = try Daemon()
        let address = daemon?.address
        let connection = try BusConnection(.session, address: address)
        let names = try connection.call(Self.bus, "/org/freedesktop/DBus", Self.bus, "ListNames")
        _ = try await next(connection) { $0 == .reply(to: names) }
        daemon = nil
        await #expect(throws: SystemError.self) { try await next(connection) { _ in false } }
        #expect(throws: SystemError.self) { try BusConnection(.session, address: "unix:path=/nonexistent/bus") }
    }
}
