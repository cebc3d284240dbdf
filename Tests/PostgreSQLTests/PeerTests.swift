import PostgresTestKit
import Synchronization
import SystemIO
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(1)))
struct PeerTests {
    private func configuration() throws -> PostgresConfiguration {
        PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase())
    }

    @Test func `a notification reaches the servers of the database, and its sender does not get it`() async throws {
        let server = try configuration()
        let first = try await PostgresPeers(server)
        let second = try await PostgresPeers(server)
        let elsewhere = try await PostgresPeers(try configuration())
        let (signal, other) = (AsyncSignal(), AsyncSignal())
        let wrong = Mutex(0)
        second.onNotification("a") { signal.set() }
        second.onNotification("b") { other.set() }
        for stranger in [first, elsewhere] { stranger.onNotification("a") { wrong.withLock { $0 += 1 } } }
        // The second has greeted the first, which then looks for it.
        while first.count == 0 { await Task.yield() }
        first.notify("a")
        await signal.wait()
        first.notify("b")
        await other.wait()
        #expect(wrong.withLock { $0 } == 0)
        #expect(elsewhere.count == 0)
        for peers in [first, second, elsewhere] { await peers.close() }
    }

    @Test func `a server that has left is not notified any more`() async throws {
        let server = try configuration()
        let first = try await PostgresPeers(server)
        await first.close()
        let second = try await PostgresPeers(server)
        #expect(second.count == 0)
        await second.close()
    }

    @Test func `a datagram without the secret is ignored`() async throws {
        let server = try configuration()
        let peers = try await PostgresPeers(server)
        let signal = AsyncSignal()
        let count = Mutex(0)
        peers.onNotification("a") {
            count.withLock { $0 += 1 }
            signal.set()
        }
        let row = try PostgresConnection(server).run(
            "SELECT address, port, value FROM ferry_peers.peer, ferry_peers.secret")
        let address = try #require(IPAddress(row.text(0, 0)))
        let port = try #require(UInt16(exactly: row.integer(0, 1)))
        let socket = try DatagramSocket(reachableAt: address, timeout: .seconds(1))
        socket.send(Array("a".utf8), to: address, port: port)
        socket.send([UInt8](repeating: 0, count: 16) + Array("a".utf8), to: address, port: port)
        socket.send([], to: address, port: port)
        // Datagrams on loopback keep their order.
        socket.send(row.bytes(0, 2) + Array("a".utf8), to: address, port: port)
        await signal.wait()
        #expect(count.withLock { $0 } == 1)
        await peers.close()
    }
}
