import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    /// Returns routes with a call that reports when it has started, waits for its cancellation, and
    /// reports how it noticed it.
    private func waiting(_ events: Events<String>) -> GRPCRoutes {
        .streaming { call in
            events.add("begun")
            call.onCancel { events.add("onCancel") }
            do {
                for try await _ in call.requests {}
                events.add("ended")
            } catch let status as GRPCStatus {
                events.add("\(status.code) \(Task.isCancelled) \(call.isCancelled)")
            }
        }
    }

    /// Expects the reports of the reader and of the callback, in either order.
    private func expectCancelled(_ events: Events<String>) async {
        let seen = [await events.next(), await events.next()].compactMap(\.self).sorted()
        #expect(seen.first?.hasPrefix("CANCELLED") == true && seen.last == "onCancel", "\(seen)")
    }

    @Test func `cancelling the call reaches the handler`() async throws {
        let events = Events(of: String.self)
        try await withServer(routes: waiting(events)) { channel in
            let call = try channel.call("/test/Call")
            #expect(await events.next() == "begun")
            call.cancel()
            #expect(await status { _ = try await call.next() }.code == .cancelled)
            #expect(await status { try await call.send([1]) }.code == .cancelled)
            await expectCancelled(events)
        }
    }

    @Test func `cancelling the task that reads reaches the handler`() async throws {
        let events = Events(of: String.self)
        try await withServer(routes: waiting(events)) { channel in
            let call = try channel.call("/test/Call")
            let reader = Task { try await call.next() }
            #expect(await events.next() == "begun")
            reader.cancel()
            #expect(await status { _ = try await reader.value }.code == .cancelled)
            await expectCancelled(events)
        }
    }

    @Test func `dropping a call cancels it`() async throws {
        let events = Events(of: String.self)
        try await withServer(routes: waiting(events)) { channel in
            do {
                let call = try channel.call("/test/Call")
                #expect(await events.next() == "begun")
                _ = call
            }
            await expectCancelled(events)
        }
    }

    @Test func `cancelling a unary call's task reaches the handler's task`() async throws {
        let events = Events(of: String.self)
        let routes = GRPCRoutes.unary { _, _ in
            events.add("begun")
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                events.add("cancelled")
            }
            return []
        }
        try await withServer(routes: routes) { channel in
            let caller = Task { try await channel.unary("/test/Call", []) }
            #expect(await events.next() == "begun")
            caller.cancel()
            #expect(await status { _ = try await caller.value }.code == .cancelled)
            #expect(await events.next() == "cancelled")
        }
    }

    @Test func `a task that is cancelled before it calls gets CANCELLED`() async throws {
        try await withServer { channel in
            let caller = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await channel.unary("/test.Echo/Unary", [])
            }
            #expect(await status { _ = try await caller.value }.code == .cancelled)
        }
    }

    @Test func `a call ends when its deadline has passed, on both sides`() async throws {
        let events = Events(of: String.self)
        try await withServer(routes: waiting(events)) { channel in
            // Connect first, so that connecting does not take from the time limit.
            _ = await status { _ = try await channel.unary("/no/Such", []) }
            let options = GRPCCallOptions(timeout: .seconds(1))
            let call = try channel.call("/test/Call", options: options)
            #expect(await status { _ = try await call.next() }.code == .deadlineExceeded)
            #expect(await events.next() == "begun")
            await expectCancelled(events)
        }
    }

    @Test func `a deadline that has passed needs no server`() async throws {
        try await withServer { channel in
            let options = GRPCCallOptions(timeout: .seconds(-1))
            let code = await status { _ = try await channel.unary("/test.Echo/Unary", [], options: options) }.code
            #expect(code == .deadlineExceeded)
        }
    }

    @Test func `the server sees the deadline`() async throws {
        let deadlines = Events(of: ContinuousClock.Instant?.self)
        let routes = GRPCRoutes.unary { _, call in
            deadlines.add(call.deadline)
            return []
        }
        try await withServer(routes: routes) { channel in
            let before = ContinuousClock.now
            _ = try await channel.unary("/test/Call", [], options: GRPCCallOptions(timeout: .seconds(100)))
            let deadline = try #require(await deadlines.next() ?? nil)
            #expect(deadline > before + .seconds(95) && deadline < .now + .seconds(101))
            _ = try await channel.unary("/test/Call", [])
            #expect(await deadlines.next() == .some(nil))
        }
    }

    @Test func `closing the channel cancels its calls and refuses others`() async throws {
        let events = Events(of: String.self)
        try await withServer(routes: waiting(events)) { channel in
            let call = try channel.call("/test/Call")
            #expect(await events.next() == "begun")
            channel.close()
            #expect(await status { _ = try await call.next() }.code == .cancelled)
            await expectCancelled(events)
            #expect(await status { _ = try await channel.unary("/test/Call", []) }.code == .cancelled)
            channel.close()
            channel.resetBackoff()
        }
    }
}
