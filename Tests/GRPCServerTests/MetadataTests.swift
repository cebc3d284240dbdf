import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import SystemIO
import Testing

@Suite(.timeLimit(.minutes(1))) struct MetadataTests {
    @Test func `keys are found in any case and keep their order`() {
        var metadata: GRPCMetadata = ["Authorization": "Bearer x", "accept": "a"]
        metadata.add("b", for: "ACCEPT")
        #expect(metadata["authorization"] == "Bearer x")
        #expect(metadata["AUTHORIZATION"] == "Bearer x")
        #expect(metadata.values("Accept") == ["a", "b"])
        metadata["accept"] = "c"
        #expect(metadata.values("accept") == ["c"])
        metadata["accept"] = nil
        #expect(metadata["accept"] == nil)
    }

    @Test func `a description shows no values`() {
        #expect(!String(describing: ["authorization": "Bearer secret"] as GRPCMetadata).contains("secret"))
    }

    @Test func `headers and trailers go both ways`() async throws {
        let bytes: [UInt8] = [0, 255, 10, 37]
        let routes = GRPCRoutes.streaming { call in
            var headers: GRPCMetadata = ["seen": call.metadata["X-Question"] ?? "nothing"]
            headers.add(call.metadata.bytes("x-question-bin") ?? [], for: "seen-bin")
            try await call.sendHeaders(headers)
            try await call.send([1])
            call.finish(.ok, trailers: ["last": "word"])
        }
        try await withServer(routes: routes) { channel in
            var metadata: GRPCMetadata = ["X-Question": "why?"]
            metadata.add(bytes, for: "x-question-bin")
            let call = try channel.call("/test/Call", request: [], options: GRPCCallOptions(metadata: metadata))
            let headers = await call.headers()
            #expect(headers["seen"] == "why?")
            #expect(headers.bytes("Seen-Bin") == bytes)
            #expect(try await call.response() == [1])
            #expect(await call.trailers()["last"] == "word")
        }
    }

    @Test func `a unary answer carries headers`() async throws {
        let routes = GRPCRoutes.unary { request, call in
            try await call.sendHeaders(["served": "yes"])
            return request
        }
        try await withServer(routes: routes) { channel in
            let response = try await channel.response("/test/Call", [7])
            #expect(response.message == [7])
            #expect(response.headers["served"] == "yes")
        }
    }

    @Test(arguments: [["white space": "a"], ["key": "line\nbreak"], ["key": "smörgås"], ["": "a"], [":path": "a"]])
    func `illegal metadata is refused by name and without its value`(pairs: [String: String]) async throws {
        var metadata = GRPCMetadata()
        for (key, value) in pairs { metadata.add(value, for: key) }
        try await withServer { channel in
            let options = GRPCCallOptions(metadata: metadata)
            let refusal = await status { _ = try await channel.unary("/test.Echo/Unary", [], options: options) }
            #expect(refusal.code == .invalidArgument)
            #expect(!refusal.message.contains("smörgås"))
            #expect(await status { _ = try channel.call("/test.Echo/Bidi", options: options) } == refusal)
        }
    }

    @Test func `illegal trailers end the call with INTERNAL`() async throws {
        let routes = GRPCRoutes.streaming { $0.finish(.ok, trailers: ["bad key": "a"]) }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Call", request: [])
            #expect(await call.status().code == .internal)
        }
    }

    @Test func `headers can be sent once`() async throws {
        let refusals = Events(of: GRPCStatus.self)
        let routes = GRPCRoutes.streaming { call in
            try await call.sendHeaders()
            refusals.add(await status { try await call.sendHeaders() })
        }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Call", request: [])
            #expect(await call.status() == .ok)
            #expect(await refusals.next()?.code == .failedPrecondition)
        }
    }

    @Test func `the server knows the address of the caller`() async throws {
        let routes = GRPCRoutes.unary { _, call in Array("\(call.path) \(call.peer)".utf8) }
        try await withServer(routes: routes) { channel in
            let answer = String(decoding: try await channel.unary("/test/Call", []), as: UTF8.self)
            #expect(answer.hasPrefix("/test/Call ipv4:127.0.0.1:"))
        }
    }

    @Test func `only a trusted proxy may name the client of a call`() async throws {
        let routes = GRPCRoutes.unary { _, call in Array(call.peer.utf8) }
        var behind = GRPCServerConfiguration()
        behind.trustedProxies = TrustedProxies([try #require(IPNetwork("127.0.0.1"))])
        for (configuration, expected) in [(behind, "ipv6:[2001:db8::7]:0"), (GRPCServerConfiguration(), "ipv4:127.")] {
            try await withServer(configuration, routes: routes) { channel in
                for header in ["x-forwarded-for": "192.0.2.1, 2001:db8::7", "forwarded": "for=\"[2001:db8::7]\""] {
                    var options = GRPCCallOptions()
                    options.metadata.add(header.value, for: header.key)
                    let answer = try await channel.unary("/test/Call", [], options: options)
                    #expect(String(decoding: answer, as: UTF8.self).hasPrefix(expected))
                }
                let answer = try await channel.unary("/test/Call", [])
                #expect(String(decoding: answer, as: UTF8.self).hasPrefix("ipv4:127.0.0.1:"))
            }
        }
    }
}
