/// An event of a server-sent event stream (HTML Living Standard, "Server-sent events").
package struct ServerSentEvent: Hashable, Sendable {
    /// The content. Lines are separated by `\n`; other line ends are converted to it.
    package var data: String
    /// The kind of event; `message` if the stream names none.
    package var event: String
    /// The id that a reconnecting client sends as `Last-Event-ID`.
    package var id: String?

    package init(data: String, event: String = "message", id: String? = nil) {
        self.data = data
        self.event = event
        self.id = id
    }

    /// The event in the format of the stream. Line ends in `event` and `id` are dropped, because
    /// they would start another field.
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
    /// Creates a response that streams events until the sequence ends or the client hangs up.
    package static func serverSentEvents<Events: AsyncSequence & Sendable>(_ events: Events) -> HTTPResponse
    where Events.Element == ServerSentEvent {
        HTTPResponse(
            headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
            body: .stream(events.map(\.bytes)))
    }
}
