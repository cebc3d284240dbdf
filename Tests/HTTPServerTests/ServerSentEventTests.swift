import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import Testing

@Suite struct ServerSentEventTests {
    /// Reads a stream that arrives in chunks of `size` bytes.
    private func read(_ text: String, chunk size: Int) async throws -> [ServerSentEvent] {
        var rest = Array(text.utf8)[...]
        let chunks = AsyncStream<[UInt8]> { continuation in
            while !rest.isEmpty {
                continuation.yield(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            continuation.finish()
        }
        var events: [ServerSentEvent] = []
        for try await event in ServerSentEvents(.stream(chunks)) { events.append(event) }
        return events
    }

    @Test(arguments: [1, 3, 1000]) func `events survive any chunking`(size: Int) async throws {
        let text = ": hello\nid: 7\nevent: status\ndata: a\ndata:  b\n\nretry: 5\n\r\ndata: ü\r\n\r\ndata: unfinished\n"
        #expect(
            try await read(text, chunk: size) == [
                ServerSentEvent(data: "a\n b", event: "status", id: "7"), ServerSentEvent(data: "ü", id: "7"),
            ])
    }

    @Test func `what a server writes is what a client reads`() async throws {
        let events = [
            ServerSentEvent(data: #"{"a":1}"#, event: "task", id: "1"),
            ServerSentEvent(data: "two\r\nlines", event: "evil\ndata: x", id: "2\n"),
        ]
        let stream = AsyncStream { continuation in
            for event in events { continuation.yield(event) }
            continuation.finish()
        }
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in .serverSentEvents(stream) }
        let address = try server.start()
        let response = try await HTTPClient().send(HTTPRequest(.get, "http://\(address)/"))
        #expect(response.headers["Content-Type"] == "text/event-stream")
        var received: [ServerSentEvent] = []
        for try await event in ServerSentEvents(response.body) { received.append(event) }
        await server.stop()
        #expect(
            received == [events[0], ServerSentEvent(data: "two\nlines", event: "evildata: x", id: "2")])
    }

    @Test func `an endless event is refused`() async {
        let flood = AsyncStream<[UInt8]> { Array(repeating: UInt8(ascii: "x"), count: 1000) }
        await #expect(throws: HTTPError.self) {
            for try await _ in ServerSentEvents(.stream(flood), limit: 10_000) {}
        }
    }

    @Test func `each event arrives before the next is sent`() async throws {
        let (events, sender) = AsyncStream<ServerSentEvent>.makeStream()
        try await withServer { _ in
            .serverSentEvents(events)
        } run: { url in
            let response = try await HTTPClient().send(HTTPRequest(.get, url + "/"))
            var received = ServerSentEvents(response.body).makeAsyncIterator()
            for event in [ServerSentEvent(data: "1"), ServerSentEvent(data: "", id: "2")] {
                sender.yield(event)
                let next = try await received.next()
                #expect(next == event)
            }
            sender.finish()
            let end = try await received.next()
            #expect(end == nil)
        }
    }
}
