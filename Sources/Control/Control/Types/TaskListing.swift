package import HTTPMessages
import JSON

/// The tasks that match a filter, in order, as the JSON document for the socket. A hundred thousand
/// tasks are never in the memory of the daemon at the same time: the document is written page by
/// page while it is sent.
package struct TaskListing: Sendable {
    /// The document: `{"schemaVersion":1,"tasks":[…]}`.
    package let body: HTTPBody

    /// Creates a listing from pages.
    ///
    /// - Parameter nextPage: Returns the next tasks; nil at the end.
    package init(pages nextPage: @escaping @Sendable () async throws -> [TaskSummary]?) {
        let writer = Writer(nextPage: nextPage)
        body = .stream { try await writer.next() }
    }

    /// Creates a listing from a response, which is not parsed before `summaries()`.
    init(body: HTTPBody) { self.body = body }

    /// Reads the document. It can be read once.
    package func bytes() async throws -> [UInt8] { try await body.collect(limit: 1 << 30) }

    /// Reads and parses the document.
    ///
    /// - Throws: `ControlError` if it is no such document.
    package func summaries() async throws -> [TaskSummary] {
        let bytes = try await bytes()
        do { return try Self.summaries(in: bytes) } catch { throw ControlError.unreadable(error) }
    }

    private static func summaries(in bytes: [UInt8]) throws -> [TaskSummary] {
        var summaries: [TaskSummary] = []
        try JSONReader.read(bytes) { (reader) throws(JSONError) in
            try reader.members { (reader, key) throws(JSONError) in
                guard key == "tasks" else { return _ = try reader.value() }
                try reader.elements { (reader) throws(JSONError) in
                    var summary = TaskSummary.blank
                    try reader.members { (reader, key) throws(JSONError) in summary.set(key, try reader.value()) }
                    summaries.append(summary)
                }
            }
        }
        for summary in summaries { try summary.validate() }
        return summaries
    }

    /// Writes the text of the document from pages.
    private actor Writer {
        private let nextPage: @Sendable () async throws -> [TaskSummary]?
        private var isBegun = false
        private var isFirstRow = true
        private var isOver = false

        init(nextPage: @escaping @Sendable () async throws -> [TaskSummary]?) { self.nextPage = nextPage }

        func next() async throws -> [UInt8]? {
            guard !isOver else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(64 << 10)
            if !isBegun { bytes += #"{"schemaVersion":1,"tasks":["#.utf8 }
            isBegun = true
            if let page = try await nextPage() {
                for summary in page {
                    if !isFirstRow { bytes.append(UInt8(ascii: ",")) }
                    isFirstRow = false
                    summary.write(to: &bytes)
                }
            } else {
                isOver = true
                bytes += "]}".utf8
            }
            return bytes
        }
    }
}

extension TaskSummary {
    /// Appends the text of `json` without creating a `JSON` first.
    func write(to bytes: inout [UInt8]) {
        bytes += #"{"id":"#.utf8
        bytes.append(json: id)
        bytes += #","title":"#.utf8
        bytes.append(json: title)
        if isCompleted { bytes += #","completed":true"#.utf8 }
        if priority != .none {
            bytes += #","priority":"#.utf8
            bytes.append(json: priority.rawValue)
        }
        if let due {
            bytes += #","due":"#.utf8
            bytes.append(json: due)
        }
        if !tags.isEmpty {
            bytes += #","tags":["#.utf8
            for (index, tag) in tags.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.append(json: tag)
            }
            bytes.append(UInt8(ascii: "]"))
        }
        if !list.isEmpty {
            bytes += #","list":"#.utf8
            bytes.append(json: list)
        }
        if attachmentCount != 0 { bytes += #","attachments":\#(attachmentCount)"#.utf8 }
        if let checklist {
            bytes += #","checklist":{"done":\#(checklist.doneCount),"items":\#(checklist.count)}"#.utf8
        }
        bytes += #","sync":"#.utf8
        bytes.append(json: sync.rawValue)
        if let path {
            bytes += #","path":"#.utf8
            bytes.append(json: path)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
