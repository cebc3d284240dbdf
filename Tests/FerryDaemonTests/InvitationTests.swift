import Control
import DocumentClient
import DocumentModel
import Testing

@testable import FerryDaemon

struct InvitationTests {
    @Test(
        arguments: [
            ("1", [0]), ("3", [2]), ("0", []), ("4", []), ("7", []), ("01", []), ("-1", []), ("7a", []), ("7ab", []),
            ("7abc", [0]), ("7ABC0001", [0]), ("1234", [1, 2]), ("12345", [1]), ("", []), ("zzzz", []),
        ] as [(String, [Int])]) func `a number is never the prefix of an id`(_ word: String, _ positions: [Int])
    {
        let ids = ["7abc0001", "12345678", "12340000"]
        #expect(ListInvitations.positions(meantBy: word, in: ids) == positions)
    }

    @Test func `a shared list that the server refuses to watch is only a problem`() throws {
        var client = ClientStatus()
        client.connection = .online
        client.isCurrent = true
        let parent = ParentName(DatabaseName(project: "p"))
        for collection in ["lists", "invitations", "tasks"] {
            client.refusedOptionalQueries[Query(parent: parent, collectionID: collection)] = "permission: no"
        }
        var status = DaemonStatus(version: "1", state: .starting, tasksDirectory: "/t")
        status.take(client)
        #expect(status.state == .running)
        #expect(status.problems.map(\.code) == ["refused"] && status.problems[0].message.contains("permission: no"))
    }
}
