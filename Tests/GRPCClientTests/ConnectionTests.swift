import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    /// The number of the next unused local address. Each server gets its own, so that its port
    /// stays free when it restarts.
    private static let hosts = Atomic(2)

    private struct Place {
        let host: String
        let port: Int

        var target: String { "\(host):\(port)" }

        /// Starts a server at this place.
        func serve() throws -> GRPCServer {
            let server = GRPCServer(GRPCServerConfiguration(host: host, port: port), routes: .echo)
            try server.start()
            return server
        }
    }

    /// Returns a place without a server.
    private func freePlace() async throws -> Place {
        let host = "127.0.37.\(Self.hosts.add(1, ordering: .relaxed).oldValue)"
        let server = GRPCServer(GRPCServerConfiguration(host: host), routes: .echo)
        let port = try server.start()
        await server.shutdown(within: .zero)
        return Place(host: host, port: port)
    }

    private var impatient: GRPCChannelConfiguration {
        var configuration = GRPCChannelConfiguration()
        configuration.reconnectBackoff = .milliseconds(100) ... .milliseconds(100)
        return configuration
    }

    @Test func `a call without a server fails fast and works when the server appears`() async throws {
        let place = try await freePlace()
        let channel = GRPCChannel(place.target, configuration: impatient)
        let start = ContinuousClock.now
        #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(5))
        let server = try place.serve()
        let patient = GRPCCallOptions(timeout: .seconds(30), waitForReady: true)
        #expect(try await channel.unary("/test.Echo/Unary", [1], options: patient) == [1])
        await server.shutdown(within: .zero)
    }

    @Test func `a call that waits for a connection survives the server's absence`() async throws {
        let place = try await freePlace()
        let channel = GRPCChannel(place.target, configuration: impatient)
        let patient = GRPCCallOptions(timeout: .seconds(30), waitForReady: true)
        async let answer = channel.unary("/test.Echo/Unary", [1], options: patient)
        _ = await status { _ = try await channel.unary("/test.Echo/Unary", []) }
        let server = try place.serve()
        #expect(try await answer == [1])
        await server.shutdown(within: .zero)
    }

    @Test func `a reset ends the wait for the next attempt`() async throws {
        let place = try await freePlace()
        var configuration = GRPCChannelConfiguration()
        configuration.reconnectBackoff = .seconds(3600) ... .seconds(3600)
        let channel = GRPCChannel(place.target, configuration: configuration)
        #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
        let server = try place.serve()
        let patient = GRPCCallOptions(timeout: .seconds(30), waitForReady: true)
        channel.resetBackoff()
        #expect(try await channel.unary("/test.Echo/Unary", [1], options: patient) == [1])
        await server.shutdown(within: .zero)
    }

    @Test func `a channel survives a restart of its server`() async throws {
        let place = try await freePlace()
        let channel = GRPCChannel(place.target, configuration: impatient)
        let patient = GRPCCallOptions(timeout: .seconds(30), waitForReady: true)
        for _ in 0..<3 {
            let server = try place.serve()
            let call = try channel.call("/test.Echo/Bidi", options: patient)
            try await call.send([1])
            #expect(try await call.next() == [1])
            await server.shutdown(within: .zero)
            #expect(await call.status().code != .ok)
        }
    }

    @Test func `a target that cannot be looked up is UNAVAILABLE`() async throws {
        let channel = GRPCChannel("no.such.host.invalid:1")
        let options = GRPCCallOptions(timeout: .seconds(30))
        #expect(await status { _ = try await channel.unary("/a/b", [], options: options) }.code == .unavailable)
    }

    @Test func `channels can be created and released repeatedly`() async throws {
        try await withServer { channel in
            for _ in 0..<50 {
                let another = GRPCChannel(channel.target)
                let answer = try await another.unary("/test.Echo/Unary", [1])
                #expect(answer == [1])
            }
        }
    }
}
