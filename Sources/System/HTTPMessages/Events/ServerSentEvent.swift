/// One event of a server-sent event stream (HTML Living Standard, "Server-sent events").
package struct ServerSentEvent: Hashable, Sendable {
    /// Lines are separated by `\n`; other line ends become one.
    package var data: String
    /// The kind; `message` where the stream names none.
    package var event: String
    /// What a reconnecting client sends as `Last-Event-ID`.
    package var id: String?

    package init(data: String, event: String = "message", id: String? = nil) {
        self.data = data
        self.event = event
        self.id = id
    }

    /// The event as it stands in the stream. Line ends in `event` and `id` would start another field; they are dropped.
    var bytes: [UInt8] {
        var text = ""
        if let id { text += "id: \(Self.oneLine(id))\n" }
        if event != "message" { text += "event: \(Self.oneLine(event))\n" }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: { ["\n", "\r", "\r\n"].contains($0) })
        {
            text += "data: \(line)\n"
        }
        return Array((text + "\n").utf8)
    }

    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" && $0 != "\0" }))
    }
}

extension HTTPResponse {
    /// A stream of events that lasts as long as the sequence does or until the client hangs up.
    package static func serverSentEvents<Events: AsyncSequence & Sendable>(_ events: Events) -> HTTPResponse
    where Events.Element == ServerSentEvent {
        HTTPResponse(
            headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
            body: .stream(events.map(\.bytes)))
    }
}
