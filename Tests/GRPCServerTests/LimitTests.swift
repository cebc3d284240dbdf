import Foundation
import GRPCClient
import GRPCProtocol
import GRPCTestKit
import Glibc
import Synchronization
import SystemIO
import Testing

@testable import GRPCServer

/// Tests of clients that exhaust a server's resources, before and after they sign in.
@Suite(.timeLimit(.minutes(1))) struct LimitTests {
    /// A configuration that authorizes `good` and `other` as accounts, and calls without
    /// authorization as having no account.
    private static var configuration: GRPCServerConfiguration {
        var configuration = GRPCServerConfiguration()
        configuration.threads = 2
        configuration.authorize = { metadata throws(GRPCStatus) in
            switch metadata["authorization"] {
            case nil: return TestCaller(transportAccount: nil)
            case "good"?, "other"?: return TestCaller(transportAccount: metadata["authorization"])
            default: throw GRPCStatus(.unauthenticated, "Missing or invalid authentication.")
            }
        }
        return configuration
    }

    private static func options(_ authorization: String) -> GRPCCallOptions {
        GRPCCallOptions(metadata: ["authorization": authorization])
    }

    private func expectServed(_ channel: GRPCChannel, as account: String = "other") async throws {
        let own = GRPCChannel(channel.target)
        defer { own.close() }
        #expect(try await own.unary("/test.Echo/Unary", [7], options: Self.options(account)) == [7])
    }

    @Test func `a call that is not permitted ends before its message is taken`() async throws {
        try await withServer(Self.configuration) { channel in
            let client = try RawClient(channel.target)
            for (path, frames) in [
                ("/test.Echo/Unary", ["HEADERS END_STREAM", "RST_STREAM"]),
                ("/test.Echo/Bidi", ["HEADERS", "HEADERS END_STREAM", "RST_STREAM"]),
            ] {
                // The message never ends.
                let answer = try await client.frames(
                    of: [.call(path, fields: [("authorization", "bad")]), .data([0, 0, 0, 1, 0, 1])],
                    until: { $0.last == "RST_STREAM" })
                #expect(answer == frames)
            }
            let status = await status {
                _ = try await channel.unary("/test.Echo/Unary", [1], options: Self.options("bad"))
            }
            #expect(status == GRPCStatus(.unauthenticated, "Missing or invalid authentication."))
            try await expectServed(channel)
        }
    }

    /// Thousands of machines are connected, and most of them are idle.
    @Test func `a connection that was busy keeps no buffers`() async throws {
        try await withServer { first in
            let channels = (0..<50).map { _ in GRPCChannel(first.target) }
            defer { for channel in channels { channel.close() } }
            let calls = try channels.map { try $0.call("/test.Echo/Bidi") }
            func exchange(_ size: Int) async throws {
                for call in calls {
                    try await call.send([UInt8](repeating: 1, count: size))
                    #expect(try await call.next()?.count == size)
                }
            }
            try await exchange(1)
            let before = ProcessMemory.inUse
            try await exchange(200_000)
            // What was sent before the answers to these has left the buffers.
            try await exchange(1)
            #expect(ProcessMemory.inUse - before < calls.count * (8 << 10))
        }
    }

    @Test func `a call's caller is found once, and its handler gets it`() async throws {
        let count = Mutex(0)
        var configuration = GRPCServerConfiguration()
        configuration.authorize = { metadata throws(GRPCStatus) in
            count.withLock { $0 += 1 }
            return TestCaller(transportAccount: metadata["authorization"])
        }
        let routes = GRPCRoutes.unary { _, call in
            Array(((call.caller as? TestCaller)?.transportAccount ?? "none").utf8)
        }
        try await withServer(configuration, routes: routes) { channel in
            let answers = [
                try await channel.unary("/test/Call", [], options: Self.options("good")),
                try await channel.unary("/test/Call", []),
            ]
            #expect(answers == [Array("good".utf8), Array("none".utf8)])
            #expect(count.withLock { $0 } == 2)
        }
    }

    @Test func `a client has few streams until a call is permitted`() async throws {
        var configuration = Self.configuration
        configuration.maximumStreamsBeforeSignIn = 3
        try await withServer(configuration) { channel in
            let client = try RawClient(channel.target)
            // None of these calls ends on its own.
            let refused = try await client.frames(
                of: [.settingsAnswer] + [RawClient.Part](repeating: .call("/test.Echo/Sum"), count: 5),
                until: { $0.contains("GOAWAY") })
            #expect(refused.contains("GOAWAY"))
            // A client's first call raises its limit.
            var calls: [GRPCClientCall] = []
            for _ in 0..<10 {
                let call = try channel.call("/test.Echo/Bidi", options: Self.options("good"))
                try await call.send([1])
                #expect(try await call.next() == [1])
                calls.append(call)
            }
            for call in calls { call.finish() }
            try await expectServed(channel)
        }
    }

    /// Calls until a call ends with that code.
    ///
    /// - Parameter otherwise: Called after each call that does not.
    private func call(
        _ channel: GRPCChannel, as authorization: String?, size: Int, until code: GRPCStatus.Code,
        otherwise: () -> Void = {}
    ) async {
        while !Task.isCancelled {
            let last = await status {
                var options = GRPCCallOptions()
                if let authorization { options.metadata["authorization"] = authorization }
                _ = try await channel.unary("/test.Echo/Unary", [UInt8](repeating: 1, count: size), options: options)
                throw GRPCStatus.ok
            }.code
            if last == code { return }
            otherwise()
        }
    }

    @Test(arguments: ["good", nil])
    func `unfinished messages are bounded for each caller on all connections together`(caller: String?) async throws {
        var configuration = Self.configuration
        configuration.limits.heldPerAccount = 300_000
        configuration.limits.heldPerAddress = 300_000
        try await withServer(configuration) { channel in
            let client = try RawClient(channel.target)
            // Two messages of 60,000 bytes on each connection, without their last byte.
            let message = [0, 0, 0, 0xEA, 0x60] + [UInt8](repeating: 1, count: 59_999)
            let call =
                [RawClient.Part.call("/test.Echo/Unary", fields: caller.map { [("authorization", $0)] } ?? [])]
                + message.chunks(of: 10_000).map { .data($0) }
            var connections = (0..<4).map { _ in client.open(call + call) }
            // While a call is in progress, messages that come are refused in its place.
            await self.call(channel, as: caller, size: 60_000, until: .resourceExhausted) {
                connections.append(client.open(call + call))
            }
            try await expectServed(channel)
            for connection in connections { close(connection) }
            await self.call(channel, as: caller, size: 60_000, until: .ok)
        }
    }

    @Test func `a message counts until its handler asks for the next one`() async throws {
        var configuration = Self.configuration
        configuration.limits.heldPerAccount = 100_000
        try await withServer(configuration) { channel in
            let call = try channel.call("/test.Echo/Bidi", options: Self.options("good"))
            // A hundred times the limit in total.
            for _ in 0..<200 {
                try await call.send([UInt8](repeating: 1, count: 50_000))
                #expect(try await call.next()?.count == 50_000)
            }
            call.finish()
            #expect(try await call.next() == nil)
            #expect(await call.status() == .ok)
            // A single message over the limit.
            let status = await status {
                _ = try await channel.unary(
                    "/test.Echo/Unary", [UInt8](repeating: 1, count: 150_000), options: Self.options("good"))
            }
            #expect(status.code == .resourceExhausted)
            try await expectServed(channel, as: "good")
        }
    }

    @Test func `unread responses are bounded, and others are served`() async throws {
        var configuration = Self.configuration
        configuration.limits.unreadPerConnection = 3_000_000
        configuration.limits.unreadPerCaller = 4_000_000
        let ends = Events(of: GRPCStatus.Code.self)
        var routes = GRPCRoutes.echo
        routes["/test/Large"] = .streaming { call in
            do {
                while true { try await call.send([UInt8](repeating: 1, count: 1_000_000)) }
            } catch let error as GRPCStatus {
                ends.add(error.code)
                throw error
            }
        }
        try await withServer(configuration, routes: routes) { channel in
            let client = try RawClient(channel.target)
            let parts =
                [RawClient.Part.noWindow]
                + [RawClient.Part](repeating: .call("/test/Large", fields: [("authorization", "good")]), count: 10)
            let stalled = client.open(parts)
            defer { close(stalled) }
            // Three answers fit on the connection.
            for _ in 0..<7 { #expect(await ends.next() == .resourceExhausted) }
            try await expectServed(channel)
            // Another connection of the same account can use the rest, and small answers are still
            // sent.
            try await expectServed(channel, as: "good")
            let second = client.open(parts)
            defer { close(second) }
            for _ in 0..<9 { #expect(await ends.next() == .resourceExhausted) }
            // A call that is read is slowed down and not refused.
            let other = try channel.call("/test/Large", options: Self.options("other"))
            for _ in 0..<20 { #expect(try await other.next()?.count == 1_000_000) }
            other.cancel()
        }
    }

    @Test func `connections that do nothing give way to others`() async throws {
        var configuration = Self.configuration
        configuration.limits.connectionsPerAddress = 4
        try await withServer(configuration) { channel in
            let call = try channel.call("/test.Echo/Bidi", options: Self.options("good"))
            try await call.send([1])
            #expect(try await call.next() == [1])
            let client = try RawClient(channel.target)
            let idle = (0..<20).map { _ in client.open([]) }
            defer { for connection in idle { close(connection) } }
            for _ in 0..<5 { try await expectServed(channel) }
            try await call.send([2])
            #expect(try await call.next() == [2])
            call.finish()
        }
    }

    @Test func `an account's connections are limited`() async throws {
        var configuration = Self.configuration
        configuration.limits.connectionsPerAccount = 2
        try await withServer(configuration) { channel in
            let parts = [RawClient.Part.call("/test.Echo/Sum", fields: [("authorization", "good")])]
            let client = try RawClient(channel.target)
            var code = GRPCStatus.Code.ok
            let open = (0..<3).map { _ in client.open(parts) }
            while code == .ok {
                code = await status {
                    try await expectServed(channel, as: "good")
                    throw GRPCStatus.ok
                }.code
            }
            #expect(code == .resourceExhausted)
            try await expectServed(channel)
            for connection in open { close(connection) }
            while code != .ok {
                code = await status {
                    try await expectServed(channel, as: "good")
                    throw GRPCStatus.ok
                }.code
            }
        }
    }

    @Test func `many small fields are as much as few large ones`() {
        var head = RequestHead(limit: 10_000)
        let name = Array("a".utf8)
        for _ in 0..<400 {
            name.withUnsafeBufferPointer { head.add($0, UnsafeBufferPointer(rebasing: $0[1...])) }
        }
        head.end()
        guard case .call(let status)? = head.problem else {
            Issue.record("No problem was found.")
            return
        }
        #expect(status.code == .resourceExhausted && head.metadata.entries.isEmpty)
    }

    @Test func `a caller is forgotten with the last that refers to it`() {
        let registry = UsageRegistry()
        var first: CallerUsage? = registry.usage(of: .account("a"))
        #expect(registry.usage(of: .account("a")) === first)
        #expect(registry.usage(of: .account("b")) !== first)
        #expect(registry.count == 1)
        let isWithin = first?.held.add(10, within: 10)
        let isBeyond = first?.held.add(1, within: 10)
        #expect(isWithin == true && isBeyond == false && first?.held.value == 10)
        first = nil
        #expect(registry.count == 0)
        #expect(registry.usage(of: .account("a")).held.value == 0)
    }
}

private struct TestCaller: GRPCCaller {
    let transportAccount: String?
}

extension Array {
    fileprivate func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
