import JSON

/// The tasks that a filter lets through, in order, as the text of the document that goes over the socket: the daemon keeps
/// each row's text from one answer to the next, and a list of 10,000 is copied, not encoded again.
package struct TaskListing: Sendable {
    /// `{"schemaVersion":1,"tasks":[…]}`
    package let bytes: [UInt8]

    /// - Parameter rows: the `row` of each summary.
    package init(rows: [[UInt8]]) {
        let opening = Array(#"{"schemaVersion":1,"tasks":["#.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rows.reduce(opening.count + 2) { $0 + $1.count + 1 })
        bytes += opening
        for (index, row) in rows.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += row
        }
        bytes += "]}".utf8
        self.bytes = bytes
    }

    /// What came over the socket; it is not looked at before `summaries()`.
    init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Throws: `ControlError` for what is no such document.
    package func summaries() throws(ControlError) -> [TaskSummary] {
        do { return try decoded() } catch { throw .unreadable(error) }
    }

    private func decoded() throws -> [TaskSummary] {
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
}

extension TaskSummary {
    /// The text of its JSON, for a `TaskListing`.
    package var row: [UInt8] { json.bytes }
}
