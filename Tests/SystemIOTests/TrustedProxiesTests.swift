import SystemIO
import Testing

struct TrustedProxiesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var peer: String
        var forwardedFor: [String] = []
        var forwarded: [String] = []
        /// The address of the client, with its port if a header contains one.
        var client: String

        var testDescription: String { "\(peer) \(forwardedFor) \(forwarded)" }
    }

    @Test(arguments: [
        // The peer is no proxy, so it is the client whatever its headers say.
        Case(peer: "203.0.113.9", forwardedFor: ["198.51.100.1"], client: "203.0.113.9"),
        Case(peer: "203.0.113.9", forwarded: ["for=198.51.100.1"], client: "203.0.113.9"),
        // A proxy without a header is the client.
        Case(peer: "10.0.0.1", client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: [""], client: "10.0.0.1"),
        // One proxy.
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1:4711"], client: "198.51.100.1:4711"),
        Case(peer: "10.0.0.1", forwardedFor: ["2001:db8::1"], client: "2001:db8::1"),
        Case(peer: "10.0.0.1", forwardedFor: ["[2001:db8::1]:4711"], client: "[2001:db8::1]:4711"),
        Case(peer: "10.0.0.1", forwardedFor: ["::ffff:198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "::ffff:10.0.0.1", forwardedFor: ["198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "2001:db8:1::7", forwardedFor: ["198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwarded: ["for=198.51.100.1;proto=https;by=10.0.0.1"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwarded: ["proto=https; For=\"[2001:db8::1]:4711\""], client: "[2001:db8::1]:4711"),
        Case(peer: "10.0.0.1", forwarded: ["for=198.51.100.1:_port"], client: "198.51.100.1"),
        // A chain of proxies, in one field and in several.
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1, 10.0.0.2"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1", "10.0.0.3,10.0.0.2"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["10.0.0.3, 10.0.0.2"], client: "10.0.0.3"),
        // The client's own header fields come before those of the proxy.
        Case(peer: "10.0.0.1", forwardedFor: ["192.0.2.66, 198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["10.0.0.9", "198.51.100.1"], client: "198.51.100.1"),
        Case(peer: "10.0.0.1", forwarded: ["for=192.0.2.66, for=198.51.100.1"], client: "198.51.100.1"),
        Case(
            peer: "10.0.0.1", forwarded: ["for=\"192.0.2.66, for=10.0.0.2\", for=198.51.100.1"], client: "198.51.100.1"),
        // The fields disagree, so the proxy wrote at most one of them.
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1"], forwarded: ["for=192.0.2.66"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1"], forwarded: ["for=198.51.100.1"], client: "198.51.100.1"),
        // The value is no address, so the proxy that forwarded it is the client.
        Case(peer: "10.0.0.1", forwardedFor: ["unknown"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1, 10.0.0.2, unknown"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1, , 10.0.0.2"], client: "10.0.0.2"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1:port"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1:99999"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["[198.51.100.1]:1"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["[2001:db8::1"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwardedFor: ["198.51.100.1.5"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwarded: ["for=_hidden"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwarded: ["for=198.51.100.1;for=192.0.2.66"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwarded: ["for=\"198.51.100.1"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwarded: ["by=10.0.0.1"], client: "10.0.0.1"),
        Case(peer: "10.0.0.1", forwarded: ["\\", "=", ";", ",,"], client: "10.0.0.1"),
    ])
    func `a client's address is the last one that an untrusted machine cannot have written`(example: Case) throws {
        let proxies = TrustedProxies(try ["10.0.0.0/8", "2001:db8:1::/48"].map { try #require(IPNetwork($0)) })
        let peer = TrustedProxies.Client(address: try #require(IPAddress(example.peer)), port: nil)
        let client = proxies.client(of: peer, forwardedFor: example.forwardedFor, forwarded: example.forwarded)
        #expect((client.port.map { client.address.description(withPort: $0) } ?? "\(client.address)") == example.client)
    }

    @Test func `without proxies nothing is believed`() throws {
        let peer = TrustedProxies.Client(address: try #require(IPAddress("127.0.0.1")), port: 7)
        #expect(TrustedProxies().client(of: peer, forwardedFor: ["1.2.3.4"], forwarded: []) == peer)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3/8", "10.9.9.9", true),
        ("0.0.0.0/0", "203.0.113.1", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true),
        ("::/0", "1.2.3.4", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false), ("::1", "::1", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("fe80::/10", "fe80::1%eth0", true),
    ])
    func `a network contains the addresses of its prefix`(network: String, address: String, isInside: Bool) throws {
        let network = try #require(IPNetwork(network))
        #expect(network.contains(try #require(IPAddress(address))) == isInside)
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0/8", "::/129",
        "host/8",
        "[::1]/128", "::ffff:10.0.0.0/104", "10.0.0.0/99999999999999999999", "10.0.0.0 /8",
    ])
    func `text that is not a network is rejected`(text: String) { #expect(IPNetwork(text) == nil) }

    @Test func `limits count an IPv6 network of 64 bits as one`() throws {
        let site = try #require(IPAddress("2001:db8:1:2:3:4:5:6")).site
        #expect(site.description == "2001:db8:1:2::")
        #expect(try #require(IPAddress("192.0.2.1")).site.description == "192.0.2.1")
    }
}
