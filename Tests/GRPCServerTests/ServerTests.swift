import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Glibc
import Testing

@Suite(.timeLimit(.minutes(1))) struct ServerTests {
    @Test func `a port in use is an error that says so`() async throws {
        // The address is used by no other test, so that the port stays free.
        let first = GRPCServer(GRPCServerConfiguration(host: "127.0.36.1"), routes: .echo)
        let port = try first.start()
        let second = GRPCServer(GRPCServerConfiguration(host: "127.0.36.1", port: port), routes: .echo)
        let error = try #require(throws: GRPCServerError.self) { try second.start() }
        #expect(error.code == .addressInUse)
        #expect(error.message.contains("127.0.36.1:\(port)"))
        await first.shutdown(within: .zero)
        #expect(try second.start() == port)
        await second.shutdown(within: .zero)
    }

    @Test func `an address of another machine is an error that says so`() {
        let server = GRPCServer(GRPCServerConfiguration(host: "192.0.2.1"), routes: .echo)
        let error = #expect(throws: GRPCServerError.self) { try server.start() }
        #expect(error?.code == .addressNotAvailable)
    }

    @Test func `a name that cannot be looked up is an error that names it`() {
        let server = GRPCServer(GRPCServerConfiguration(host: "no.such.host.invalid"), routes: .echo)
        let error = #expect(throws: GRPCServerError.self) { try server.start() }
        #expect(error?.code == .addressNotAvailable)
        #expect(error?.message.contains("no.such.host.invalid") == true)
    }

    @Test(arguments: [-1, 65_536, 70_000, .max]) func `an invalid port is refused`(port: Int) {
        let server = GRPCServer(GRPCServerConfiguration(port: port), routes: .echo)
        #expect(throws: GRPCServerError.self) { try server.start() }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"),
    ])
    func `a server listens on a host`(host: String, target: String) async throws {
        let server = GRPCServer(GRPCServerConfiguration(host: host), routes: .echo)
        let channel = GRPCChannel("\(target):\(try server.start())")
        #expect(try await channel.unary("/test.Echo/Unary", [1]) == [1])
        await server.shutdown(within: .zero)
    }

    @Test func `a server starts once`() async throws {
        let server = GRPCServer(routes: .echo)
        try server.start()
        #expect(throws: GRPCServerError.self) { try server.start() }
        await server.shutdown(within: .zero)
        await server.shutdown(within: .zero)
    }

    @Test func `a shutdown lets calls in progress end`() async throws {
        let begun = Events(of: Void.self)
        let server = GRPCServer { call in
            begun.add(())
            for try await message in call.requests { try await call.send(message) }
        }
        let channel = GRPCChannel("127.0.0.1:\(try server.start())")
        let call = try channel.call("/any")
        _ = await begun.next()
        async let stopped: Void = server.shutdown(within: .seconds(3600))
        // New calls are refused once the shutdown has started.
        while (try? await channel.unary("/any", [1], options: GRPCCallOptions(timeout: .seconds(10)))) != nil {}
        try await call.send([5])
        #expect(try await call.next() == [5])
        call.finish()
        #expect(try await call.next() == nil)
        await stopped
    }

    @Test func `a shutdown cancels what is left after the limit`() async throws {
        let events = Events(of: String.self)
        let server = GRPCServer { call in
            events.add("begun")
            do {
                for try await _ in call.requests {}
            } catch {
                events.add("cancelled")
            }
        }
        let channel = GRPCChannel("127.0.0.1:\(try server.start())")
        let calls = try (0..<20).map { _ in try channel.call("/any") }
        for _ in calls { #expect(await events.next() == "begun") }
        await server.shutdown(within: .milliseconds(10))
        for _ in calls { #expect(await events.next() == "cancelled") }
        for call in calls {
            let code = await status { _ = try await call.next() }.code
            #expect(code == .unavailable || code == .cancelled)
        }
    }

    @Test func `a reader of a finished call gets its end`() async throws {
        let read = Events(of: Bool.self)
        let routes = GRPCRoutes.streaming { call in
            async let next = call.next()
            call.finish(GRPCStatus(.unavailable))
            read.add(try await next == nil)
        }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Call")
            #expect(await call.status().code == .unavailable)
            #expect(await read.next() == true)
        }
    }

    @Test func `a client that does not answer does not delay a shutdown`() async throws {
        let server = GRPCServer(routes: .echo)
        let port = try server.start()
        let silent = try RawClient("127.0.0.1:\(port)").connection(
            sending: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0])
        defer { close(silent) }
        // This connection comes second, so the silent one has been accepted.
        let channel = GRPCChannel("127.0.0.1:\(port)")
        #expect(try await channel.unary("/test.Echo/Unary", [1]) == [1])
        await server.shutdown(within: .zero)
    }

    @Test func `cancelling a shutdown ends its patience`() async throws {
        let begun = Events(of: Void.self)
        let server = GRPCServer { call in
            begun.add(())
            for try await _ in call.requests {}
        }
        let channel = GRPCChannel("127.0.0.1:\(try server.start())")
        let call = try channel.call("/any")
        _ = await begun.next()
        let shutdown = Task { await server.shutdown(within: .seconds(3600)) }
        shutdown.cancel()
        await shutdown.value
        #expect(await call.status().code != .ok)
    }

    @Test func `a dropped server stops`() async throws {
        let begun = Events(of: Void.self)
        var server: GRPCServer? = GRPCServer { call in
            begun.add(())
            for try await _ in call.requests {}
        }
        let channel = GRPCChannel("127.0.0.1:\(try server?.start() ?? 0)")
        let call = try channel.call("/any")
        _ = await begun.next()
        server = nil
        #expect(await call.status().code != .ok)
    }
}
