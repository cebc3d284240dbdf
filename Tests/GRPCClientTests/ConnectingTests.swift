import GRPCProtocol
import Testing

@testable import GRPCClient

/// Tests of the address to which a channel connects, and of the time when it does.
struct ConnectingTests {
    @Test(arguments: [
        ("example.org:50051", Endpoint(host: "example.org", port: 50051)),
        ("example.org", Endpoint(host: "example.org", port: 443)),
        ("127.0.0.1:1", Endpoint(host: "127.0.0.1", port: 1)),
        ("[::1]:7440", Endpoint(host: "::1", port: 7440)), ("[::1]", Endpoint(host: "::1", port: 443)),
        ("2001:db8::1", Endpoint(host: "2001:db8::1", port: 443)),
    ])
    func `a target names a server`(target: String, endpoint: Endpoint) { #expect(Endpoint(target) == endpoint) }

    @Test(arguments: ["", ":1", "a:b", "a:70000", "a:-1", "[::1]x", "[::1]:", "a b:1", "a\r\nb:1", "a:b:c", "[a]:1"])
    func `a target without a server is refused`(target: String) { #expect(Endpoint(target) == nil) }

    // MARK: Proxies

    private func proxy(_ target: String, _ environment: [String: String]) throws -> HTTPProxy? {
        HTTPProxy.of(try #require(Endpoint(target))) { environment[$0] }
    }

    @Test func `the environment names a proxy, the most specific first`() throws {
        var environment = ["http_proxy": "http://one:1", "https_proxy": "two:2", "grpc_proxy": "http://three:3/"]
        #expect(try proxy("a.example:443", environment)?.endpoint == Endpoint(host: "three", port: 3))
        environment["grpc_proxy"] = ""
        #expect(try proxy("a.example:443", environment)?.endpoint == Endpoint(host: "two", port: 2))
        environment["https_proxy"] = nil
        #expect(try proxy("a.example:443", environment)?.endpoint == Endpoint(host: "one", port: 1))
        #expect(try proxy("a.example:443", [:]) == nil)
    }

    @Test(arguments: ["localhost:1", "127.0.0.1:1", "[::1]:1"])
    func `this machine's own services have no proxy`(target: String) throws {
        #expect(try proxy(target, ["http_proxy": "http://one:1"]) == nil)
    }

    @Test(arguments: [
        ("a.example.org:1", "example.org", false), ("a.example.org:1", ".example.org", false),
        ("example.org:1", "EXAMPLE.org", false), ("an-example.org:1", "example.org", true),
        ("a.example.org:1", "b, *", false), ("10.1.2.3:1", "10.0.0.0/8", false), ("10.1.2.3:1", "10.1.2.3", false),
        ("11.1.2.3:1", "10.0.0.0/8", true), ("[2001:db8::1]:1", "2001:db8::/32", false),
        ("210.1.2.3:1", "10.1.2.3", true), ("a.example.org:1", ".", true),
    ])
    func `no_proxy names hosts, domains and networks`(target: String, exceptions: String, isProxied: Bool) throws {
        let environment = ["http_proxy": "http://one:1", "no_proxy": exceptions]
        #expect((try proxy(target, environment) != nil) == isProxied)
    }

    @Test func `a proxy's address may name a user, and must be an HTTP URL`() throws {
        let proxy = try #require(HTTPProxy("http://me:a%40b@proxy.example"))
        #expect(proxy.endpoint == Endpoint(host: "proxy.example", port: 80))
        #expect(proxy.authorization == "Basic bWU6YUBi")
        #expect(HTTPProxy("[::1]:3128")?.endpoint == Endpoint(host: "::1", port: 3128))
        #expect(HTTPProxy("http://[::1]")?.endpoint == Endpoint(host: "::1", port: 80))
        for address in ["https://proxy:1", "socks5://proxy:1", "http://", "http://a:b:c", "http://a:x"] {
            #expect(HTTPProxy(address) == nil, "\(address)")
        }
    }

    private func outcome(_ answer: String, in pieces: Int = 1) throws -> (used: Int, ProxyRequest.Outcome) {
        var request = ProxyRequest(try #require(HTTPProxy("proxy:1")), to: Endpoint(host: "a.example", port: 443))
        let bytes = Array(answer.utf8)
        var used = 0
        while used < bytes.count {
            let piece = bytes[used...].prefix(max(1, bytes.count / pieces))
            let (count, outcome) = piece.withUnsafeBytes { request.receive($0) }
            used += count
            if outcome != .unfinished { return (used, outcome) }
        }
        return (used, .unfinished)
    }

    @Test func `a proxy's answer ends with an empty line, and the rest is not read`() throws {
        let answer = "HTTP/1.1 200 Connection established\r\nVia: me\r\n\r\n"
        for pieces in [1, 7, answer.utf8.count] {
            let (used, outcome) = try outcome(answer + "PRI", in: pieces)
            #expect(used == answer.utf8.count && outcome == .open)
        }
        #expect(try outcome("HTTP/1.1 200 OK\r\n").1 == .unfinished)
    }

    @Test func `a proxy that does not open the tunnel is an error`() throws {
        #expect(try outcome("HTTP/1.1 407 No\r\n\r\n").1 == .refused("it answers with the status 407"))
        for answer in [
            "SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\r\n\r\n", "HTTP/1.1 99999999999999999999 a\r\n\r\n",
        ] {
            #expect(try outcome(answer).1 == .refused("its answer is not HTTP"), "\(answer)")
        }
        let endless = String(repeating: "a", count: 2 * ProxyRequest.limit)
        let (used, outcome) = try outcome(endless)
        #expect(used == ProxyRequest.limit && outcome == .refused("its answer is too long"))
    }

    @Test func `a proxy gets the server's name and the user's credentials`() throws {
        let proxy = try #require(HTTPProxy("a:b@proxy:1"))
        #expect(
            String(decoding: ProxyRequest(proxy, to: Endpoint(host: "::1", port: 2)).bytes, as: UTF8.self)
                == "CONNECT [::1]:2 HTTP/1.1\r\nHost: [::1]:2\r\nProxy-Authorization: Basic YTpi\r\n\r\n")
    }

    // MARK: Reconnection

    private let status = GRPCStatus(.unavailable, "gone")

    @Test func `the first call connects and others wait for it`() {
        var channel = Reconnection(pauses: .seconds(1) ... .seconds(10))
        #expect(channel.answer(isPatient: false, at: .now) == .connect)
        #expect(channel.answer(isPatient: false, at: .now) == .wait)
        channel.connected()
        #expect(channel.answer(isPatient: false, at: .now) == .send)
        channel.lost()
        #expect(channel.answer(isPatient: false, at: .now) == .connect)
    }

    @Test func `after a failure calls fail until the pause has ended, or wait`() {
        var channel = Reconnection(pauses: .seconds(1) ... .seconds(10))
        let start = ContinuousClock.now
        _ = channel.answer(isPatient: false, at: start)
        channel.failed(status, at: start, random: 0.5)
        #expect(channel.resumes == start + .seconds(1))
        #expect(channel.answer(isPatient: false, at: start) == .fail(status))
        #expect(channel.answer(isPatient: true, at: start) == .wait)
        #expect(channel.answer(isPatient: false, at: start + .seconds(1)) == .connect)
        #expect(channel.resumes == nil)
    }

    @Test func `pauses grow to their limit, and begin again after a connection or a reset`() {
        var channel = Reconnection(pauses: .seconds(1) ... .seconds(3))
        let start = ContinuousClock.now
        /// Returns the pause in milliseconds.
        func pause(_ random: Double) -> Double {
            _ = channel.answer(isPatient: true, at: start + .seconds(100))
            channel.failed(status, at: start, random: random)
            return (((channel.resumes ?? start) - start) / .milliseconds(1)).rounded()
        }
        #expect([pause(0.5), pause(0.5), pause(0.5), pause(0.5)] == [1000, 1600, 2560, 3000])
        #expect(pause(0) == 2400 && pause(1) == 3600 && pause(7) == 3600)
        channel.reset()
        #expect(channel.resumes == nil && pause(0.5) == 1000)
        channel.connected()
        #expect(pause(0.5) == 1000)
    }

    @Test func `a pause of zero is a pause`() {
        var channel = Reconnection(pauses: .zero ... .zero)
        let start = ContinuousClock.now
        channel.failed(status, at: start, random: 0.5)
        #expect(channel.answer(isPatient: true, at: start) == .wait)
    }
}
