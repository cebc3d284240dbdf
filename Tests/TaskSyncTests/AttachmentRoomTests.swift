import DocumentModel
import TaskModel
import Testing

@testable import DocumentClient
@testable import TaskSync

/// How much room a task's document has for attachments.
@Suite struct AttachmentRoomTests {
    private func view(_ fields: [String: Value], pending: [FieldPath: Value?] = [:]) throws -> DocumentSnapshot {
        var view = LocalView(fields: fields)
        view.pendingTimes = pending
        return DocumentSnapshot(
            name: try DocumentName(database: DatabaseName(project: "ferry"), path: "tasks/a"), view: view,
            createTime: nil, updateTime: nil, hasPendingWrites: true, hasParkedWrites: false)
    }

    @Test func `times that the server is still to set take as much room as those that it has set`() throws {
        let attachment: [String: Value] = ["name": .string("a.txt")]
        let path = FieldPath(key: "attachments").appending("x").appending("createdTime")
        let set = try view([
            "attachments": .map(["x": .map(attachment.merging(["createdTime": .timestamp(.distantPast)]) { $1 })])
        ])
        let pending = try view(["attachments": .map(["x": .map(attachment)])], pending: [path: nil])
        #expect(AttachmentRoom(pending, userID: UserID("u")).used == AttachmentRoom(set, userID: UserID("u")).used)
        #expect(
            AttachmentRoom(pending, userID: UserID("u")).used
                > AttachmentRoom(try view(["attachments": .map(["x": .map(attachment)])]), userID: UserID("u")).used)
    }

    @Test func `a name is taken as long as the reserve stays`() throws {
        let notes = String(repeating: "x", count: 1_047_000)
        var room = AttachmentRoom(try view(["notes": .string(notes)]), userID: UserID("u"))
        let size = room.size(of: ["a.txt"])
        var count = 0
        while room.take("a.txt") { count += 1 }
        #expect(count == (DocumentLimits.maximumSize - AttachmentRoom.reserve - (room.used - count * size)) / size)
    }
}
