import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct CallTests {
    @Test func `a unary call returns the answer`() async throws {
        try await withServer { channel in
            let answer = try await channel.unary("/test.Echo/Unary", [1, 2, 3])
            #expect(answer == [1, 2, 3])
        }
    }

    @Test func `an empty message is a message`() async throws {
        try await withServer { channel in
            #expect(try await channel.unary("/test.Echo/Unary", []) == [])
            let call = try channel.call("/test.Echo/Bidi")
            try await call.send([])
            #expect(try await call.next() == [])
            call.finish()
            #expect(try await call.next() == nil)
        }
    }

    @Test func `a server streams its responses in order`() async throws {
        try await withServer { channel in
            var numbers: [UInt8] = []
            for try await message in try channel.call("/test.Echo/Count", request: [200]).responses {
                numbers += message
            }
            #expect(numbers == Array(0..<200))
        }
    }

    @Test func `a client streams its requests and gets one answer`() async throws {
        try await withServer { channel in
            let call = try channel.call("/test.Echo/Sum")
            for _ in 0..<100 { try await call.send([2]) }
            call.finish()
            #expect(try await call.response() == [200])
        }
    }

    @Test func `both sides stream in turn`() async throws {
        try await withServer { channel in
            let call = try channel.call("/test.Echo/Bidi")
            for number in 0..<UInt8(50) {
                try await call.send([number])
                #expect(try await call.next() == [number])
            }
            call.finish()
            #expect(try await call.next() == nil)
            #expect(await call.status() == .ok)
        }
    }

    @Test func `sends of one task overlap with reads of another`() async throws {
        try await withServer { channel in
            let call = try channel.call("/test.Echo/Bidi")
            async let sent: Void = {
                for number in 0..<10_000 { try await call.send([UInt8(truncatingIfNeeded: number)]) }
                call.finish()
            }()
            var count = 0
            for try await message in call.responses {
                guard message == [UInt8(truncatingIfNeeded: count)] else {
                    Issue.record("message \(count) is out of order: \(message)")
                    break
                }
                count += 1
            }
            try await sent
            #expect(count == 10_000)
        }
    }

    @Test func `a message of 8 MiB is sent and returned intact`() async throws {
        try await withServer { channel in
            // The length is a prime, so that no two pieces of the message are equal at the same
            // offset of a frame.
            let piece = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            var message: [UInt8] = []
            while message.count < 8 << 20 { message += piece }
            #expect(try await channel.unary("/test.Echo/Unary", message) == message)
            let call = try channel.call("/test.Echo/Bidi")
            try await call.send(message)
            call.finish()
            #expect(try await call.response() == message)
        }
    }

    @Test func `a call whose answer is not single has no response`() async throws {
        try await withServer { channel in
            let none = try channel.call("/test.Echo/Count", request: [0])
            #expect(await status { _ = try await none.response() }.code == .internal)
            let two = try channel.call("/test.Echo/Count", request: [2])
            #expect(await status { _ = try await two.response() }.code == .internal)
        }
    }

    @Test func `a message after the last one is refused`() async throws {
        try await withServer { channel in
            let call = try channel.call("/test.Echo/Bidi")
            call.finish()
            call.finish()
            #expect(await status { try await call.send([1]) }.code == .failedPrecondition)
            #expect(try await call.next() == nil)
        }
    }

    @Test func `a sender waits for a slow reader`() async throws {
        let sent = Atomic(0)
        var routes = GRPCRoutes.echo
        routes["/test/Flood"] = .streaming { call in
            let message = [UInt8](repeating: 1, count: 64 << 10)
            for _ in 0..<1000 {
                try await call.send(message)
                sent.add(1, ordering: .relaxed)
            }
        }
        try await withServer(routes: routes) { channel in
            let call = try channel.call("/test/Flood", request: [])
            _ = try await call.next()
            // These calls give the server time to run ahead, if it did.
            for _ in 0..<200 { _ = try await channel.unary("/test.Echo/Unary", [1]) }
            #expect(sent.load(ordering: .relaxed) < 100)
            var count = 1
            while try await call.next() != nil { count += 1 }
            #expect(count == 1000)
        }
    }

    @Test func `2,000 calls are open at once on few threads`() async throws {
        try await withServer { channel in
            var calls: [GRPCClientCall] = []
            for _ in 0..<2000 {
                let call = try channel.call("/test.Echo/Bidi")
                try await call.send([1])
                calls.append(call)
            }
            for call in calls { #expect(try await call.next() == [1]) }
            #expect(threadCount() < 60)
            for call in calls.reversed() {
                try await call.send([2])
                #expect(try await call.next() == [2])
                call.finish()
            }
            for call in calls { #expect(try await call.next() == nil) }
        }
    }
}
