import Control
import DocumentClient
import DocumentModel
import TaskModel
import Testing

@testable import FerryDaemon

struct StatusTests {
    private func status(_ connection: ClientStatus.Connection, isCurrent: Bool = false, pending: Int = 0)
        -> DaemonStatus
    {
        var client = ClientStatus()
        client.connection = connection
        client.isCurrent = isCurrent
        client.pendingCount = pending
        var status = DaemonStatus(version: "1", state: .starting, tasksDirectory: "/t")
        status.taskCount = 12
        status.take(client)
        return status
    }

    @Test func `running is when everything watched is current, and needs no reason`() {
        let status = status(.online, isCurrent: true)
        #expect(status.state == .running)
        #expect(status.reason == nil)
        #expect(status.line == "running: 12 tasks, all synced")
    }

    @Test func `every other state has a reason`() {
        let others: [(ClientStatus.Connection, DaemonStatus.State)] = [
            (.stopped, .starting), (.connecting, .starting), (.online, .starting), (.offline("no route"), .offline),
            (.needsSignIn, .needsSignIn), (.otherRemote("older"), .serverHeld),
        ]
        for (connection, state) in others {
            #expect(status(connection).state == state)
            #expect(status(connection).reason != nil, "\(connection)")
        }
        #expect(status(.offline("no route")).reason?.contains("no route") == true)
        #expect(status(.needsSignIn).hint?.contains("ferry login") == true)
    }

    @Test func `waiting items are in the line`() {
        #expect(status(.online, isCurrent: true, pending: 3).line == "running: 12 tasks, 3 changes to send")
    }

    @Test func `a sync is not complete while something waits for the user`() {
        var status = status(.online, isCurrent: true)
        #expect(status.left == nil)
        status.conflicts = 2
        status.problems = [Problem(code: "symlink", message: "m")]
        #expect(status.left == nil)
        status.heldDeletes = 1
        status.heldReverts = 2
        status.pausedTransfers = 2
        status.rejected = 3
        status.failedTransfers = 1
        status.problems.append(Problem(code: "attachment-damaged", message: "m"))
        let words = [
            "3 changes were refused", "1 delete is held", "2 reverts are held", "2 transfers are paused",
            "1 transfer has failed",
            "1 problem is",
        ]
        #expect(status.left?.code == .attention && words.allSatisfy { status.left?.message.contains($0) ?? false })
        var client = ClientStatus()
        client.parkedCount = 1
        status.take(client)
        #expect(status.rejected == 1 && status.needsAttention)
    }

    @Test func `times are RFC 3339, before 1970 too`() {
        #expect(Timestamp(microseconds: 1_700_000_000_123_000).rfc3339 == "2023-11-14T22:13:20.123Z")
        #expect(Timestamp(microseconds: -1_000_000).rfc3339 == "1969-12-31T23:59:59Z")
        #expect(Timestamp.distantPast.rfc3339 == "0001-01-01T00:00:00Z")
    }

    @Test func `values are formatted as users write them`() {
        #expect(ValueText.text(of: .array([.integer(1), .string("a")])) == "[1, a]")
        #expect(ValueText.text(of: .map(["$yaml": .string("[x,  y]")])) == "[x,  y]")
        #expect(ValueText.text(of: .map(["b": .null, "a": .boolean(true)])) == "{a: true, b: null}")
    }
}
