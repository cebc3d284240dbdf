import JSON
import Testing

@testable import Control

@Suite struct TaskChangeTests {
    @Test func `the fields of a new task are sent over the socket completely`() throws {
        var change = TaskChange(
            title: "T", list: "", due: "", tags: [], addTags: ["a"], notes: "n\r\n", fields: ["k": "[1, 2]"])
        change.texts = ["color": "#f00"]
        change.head = "\u{FEFF}---\r\npriority: high\r\n---\r\n"
        change.fileName = "T"
        change.importKey = "record A"
        change.isTrial = true
        let back = try TaskChange(json: change.json)
        #expect(back == change && back.head.map { Array($0.utf8) } == change.head.map { Array($0.utf8) })
        #expect(throws: ControlError.self) { try TaskChange(json: ["texts": ["k": 1]]) }
    }

    @Test func `a status has the counts of paused, failed and rejected items`() throws {
        var status = DaemonStatus(version: "1", state: .running, tasksDirectory: "/t")
        #expect(!status.needsAttention && status.isInSync)
        (status.pausedTransfers, status.failedTransfers, status.rejected) = (1, 2, 3)
        #expect(try DaemonStatus(json: status.json) == status && status.needsAttention && !status.isInSync)
    }
}
