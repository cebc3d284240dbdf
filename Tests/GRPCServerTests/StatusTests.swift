import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct StatusTests {
    @Test(arguments: GRPCStatus.Code.allCases.dropFirst())
    func `every code crosses the wire`(code: GRPCStatus.Code) async throws {
        let routes = GRPCRoutes.unary { _, _ in throw GRPCStatus(code, "because") }
        try await withServer(routes: routes) { channel in
            #expect(await status { _ = try await channel.unary("/test/Call", []) } == GRPCStatus(code, "because"))
        }
    }

    @Test(arguments: ["100 % of “naïve” 日本語 🚢", "%41", "line\nbreak\ttab", " spaces ", "%", ""])
    func `any text crosses the wire as a message`(text: String) async throws {
        let thrown = GRPCStatus(.notFound, text, details: [0, 1, 255])
        try await withServer(routes: .streaming { _ in throw thrown }) { channel in
            let call = try channel.call("/test/Call", request: [])
            #expect(await status { _ = try await call.next() } == thrown)
        }
        try await withServer(routes: .unary { _, _ in throw thrown }) { channel in
            #expect(await status { _ = try await channel.unary("/test/Call", []) } == thrown)
        }
    }

    @Test func `an unknown method is UNIMPLEMENTED`() async throws {
        try await withServer { channel in
            let unary = await status { _ = try await channel.unary("/no.Such/Method", [1]) }
            #expect(unary.code == .unimplemented)
            #expect(unary.message.contains("/no.Such/Method"))
            let call = try channel.call("/no.Such/Method")
            #expect(await status { _ = try await call.next() }.code == .unimplemented)
        }
    }

    @Test func `a stream's error follows its messages`() async throws {
        let routes = GRPCRoutes.streaming { call in
            try await call.send([1])
            try await call.send([2])
            throw GRPCStatus(.aborted, "enough")
        }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Call", request: [])
            #expect(try await call.next() == [1])
            #expect(try await call.next() == [2])
            #expect(await status { _ = try await call.next() } == GRPCStatus(.aborted, "enough"))
            #expect(await status { _ = try await call.next() }.code == .aborted)
        }
    }

    @Test func `an unexpected error reveals nothing to the peer`() async throws {
        struct Secret: Error { let text = "password" }
        try await withServer(routes: .unary { _, _ in throw Secret() }) { channel in
            let thrown = await status { _ = try await channel.unary("/test/Call", []) }
            #expect(thrown.code == .unknown)
            #expect(!thrown.message.contains("password"))
            #expect(!thrown.message.contains("Secret"))
        }
    }

    @Test func `a handler that returns without a status ends with OK`() async throws {
        try await withServer(routes: .streaming { _ in }) { channel in
            let call = try channel.call("/test/Call")
            #expect(try await call.next() == nil)
            #expect(await call.status() == .ok)
        }
    }

    @Test func `nothing can be sent after the status`() async throws {
        let refusals = Events(of: GRPCStatus.self)
        let routes = GRPCRoutes.streaming { call in
            call.finish(GRPCStatus(.dataLoss))
            call.finish(.ok)
            refusals.add(await status { try await call.send([1]) })
        }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Call", request: [])
            #expect(await call.status().code == .dataLoss)
            let refusal = await refusals.next()?.code
            #expect(refusal == .failedPrecondition || refusal == .cancelled)
        }
    }

    @Test(arguments: [17, 4711, -3]) func `a code that gRPC does not define is UNKNOWN`(value: Int) {
        #expect(GRPCStatus.Code(wire: value) == .unknown)
    }

    @Test func `a message over the limit is RESOURCE_EXHAUSTED`() async throws {
        var server = GRPCServerConfiguration()
        server.maximumReceiveSize = 1000
        var client = GRPCChannelConfiguration()
        client.maximumReceiveSize = 500
        client.maximumSendSize = 2000
        try await withServer(server, channel: client) { channel in
            func code(_ size: Int) async -> GRPCStatus.Code {
                let message = [UInt8](repeating: 0, count: size)
                return await status { _ = try await channel.unary("/test.Echo/Unary", message) }.code
            }
            let largest = try await channel.unary("/test.Echo/Unary", [UInt8](repeating: 0, count: 500))
            #expect(largest.count == 500)
            #expect(await code(501) == .resourceExhausted, "received by the client")
            #expect(await code(1001) == .resourceExhausted, "received by the server")
            #expect(await code(2001) == .resourceExhausted, "sent by the client")
        }
    }
}
