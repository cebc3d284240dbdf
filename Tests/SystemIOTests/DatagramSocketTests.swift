import SystemIO
import Testing

struct DatagramSocketTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func `a datagram arrives whole, and silence ends the wait`(address: String) throws {
        let address = try #require(IPAddress(address))
        let receiver = try DatagramSocket(reachableAt: address, timeout: .milliseconds(20))
        let sender = try DatagramSocket(reachableAt: address, timeout: .milliseconds(20))
        #expect(receiver.port != 0 && receiver.port != sender.port)
        #expect(receiver.receive() == nil)
        sender.send([1, 2, 3], to: address, port: receiver.port)
        sender.send([], to: address, port: receiver.port)
        #expect(receiver.receive() == [1, 2, 3])
        #expect(receiver.receive() == [])
        #expect(receiver.receive() == nil)
    }

    @Test func `an address of the other family is out of reach of an IPv4 socket`() throws {
        let socket = try DatagramSocket(
            reachableAt: try #require(IPAddress("127.0.0.1")), timeout: .milliseconds(20))
        socket.send([1], to: try #require(IPAddress("::1")), port: socket.port)
        #expect(socket.receive() == nil)
    }
}
