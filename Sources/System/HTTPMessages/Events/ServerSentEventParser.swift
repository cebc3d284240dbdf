/// A parser that takes bytes and returns complete events.
struct ServerSentEventParser {
    private let limit: Int
    private var line: [UInt8] = []
    private var lastWasReturn = false
    private var lastID: String?
    private var event = "message"
    private var data: [String] = []
    private var size = 0

    init(limit: Int) { self.limit = limit }

    mutating func read(_ chunk: [UInt8]) throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in chunk {
            let isSecondHalf = lastWasReturn && byte == 0x0A
            lastWasReturn = byte == 0x0D
            if isSecondHalf { continue }
            guard byte == 0x0A || byte == 0x0D else {
                line.append(byte)
                size += 1
                guard size <= limit else {
                    throw HTTPError(.bodyTooLarge, "An event has more than the \(limit) bytes allowed.")
                }
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else {
            defer {
                event = "message"
                data = []
                size = 0
            }
            return data.isEmpty
                ? nil : ServerSentEvent(data: data.joined(separator: "\n"), event: event, id: lastID)
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == 0x20 { value = value.dropFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "id": if !text.utf8.contains(0) { lastID = text }
        case "event": event = text.isEmpty ? "message" : text
        case "data": data.append(text)
        // A comment does not count toward the limit, because an endless stream may hold any number
        // of them.
        case "": size -= line.count
        default: break
        }
        return nil
    }
}
