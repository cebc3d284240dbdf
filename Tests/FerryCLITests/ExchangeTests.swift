import Control
import Testing

@testable import FerryCLI

@Suite struct ExchangeTests {
    @Test func `a line of todo txt has title, priority, tags and due date`() throws {
        let task = try #require(
            TodoLine.task("x 2026-11-20 (A) 2026-11-01 Call Anna +family @phone due:2026-12-01 now"))
        #expect(task.title == "Call Anna now" && task.isCompleted == true && task.priority == .high)
        #expect(task.addTags == ["family", "phone"] && task.due == "2026-12-01")
        #expect(TodoLine.task("(B) x")?.priority == .medium && TodoLine.task("(Z) x")?.priority == .low)
        #expect(TodoLine.task("x done pri:C")?.priority == .low)
    }

    @Test func `what only looks like todo txt is text`() {
        #expect(TodoLine.task("   ") == nil && TodoLine.task("x") == nil && TodoLine.task("(A) +tag") == nil)
        #expect(
            TodoLine.task("xylophone (A) https://a.b 2026-1-1 due: + @")?.title
                == "xylophone (A) https://a.b 2026-1-1 due: + @")
        #expect(TodoLine.task("(a) (AB) lower")?.title == "(a) (AB) lower")
    }

    @Test func `an archive has a header with a checksum, blocks of 512 bytes, and an end`() {
        var archive = TarArchive()
        archive.add("a.txt", Array("hello".utf8), time: 1)
        archive.add("b.txt", [], time: 1)
        let bytes = archive.finished
        #expect(bytes.count == 512 * 5)
        #expect(bytes[257..<263].elementsEqual("ustar\0".utf8) && bytes[512..<517].elementsEqual("hello".utf8))
        let stored = String(decoding: bytes[148..<154], as: UTF8.self)
        let sum = bytes[0..<512].enumerated().reduce(0) {
            $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element))
        }
        #expect(Int(stored, radix: 8) == sum)
        #expect(bytes[1536...].allSatisfy { $0 == 0 })
    }

    @Test func `titles, names, address and home are taken out, the longest first`() {
        var status = DaemonStatus(version: "1", state: .running, tasksDirectory: "/home/me/Tasks")
        status.account = AccountSummary(userID: "u", email: "me@example.org", server: "s")
        status.problems = [Problem(code: "symlink", subject: "Love letter.md", message: "is a link")]
        let tasks = [
            TaskSummary(id: "11112222x", title: "Buy milk", path: "Home/Buy milk.md"),
            TaskSummary(id: "33334444x", title: "Buy milk and bread", path: "Buy milk and bread.md"),
        ]
        let lists = [ListSummary(id: "list1", name: "Home", openCount: 0, taskCount: 0)]
        let redaction = Redaction(tasks: tasks, lists: lists, status: status, home: "/home/me")
        #expect(
            redaction.applied(to: "/home/me/Tasks/Home/Buy milk.md, Buy milk and bread in /home/me of me@example.org")
                == "<tasks>/<task 11112222>.md, <task 33334444> in ~ of <e-mail>")
        #expect(redaction.applied(to: "Love letter.md is a link") == "<file> is a link")
    }

    @Test func `a time of the daemon's is the same moment on the wall`() {
        #expect(MomentWords.seconds("1970-01-02T00:00:01.5Z") == 86_401)
        #expect(MomentWords.seconds("2026-11-21T20:31:05Z") == 1_795_293_065)
        #expect(MomentWords.text(nil) == "not yet ordered")
        for odd in ["", "soon", "2026-13-01T00:00:00Z", "2026-11-21 20:31:05", "2026-11-21T20:31Z"] {
            #expect(MomentWords.seconds(odd) == nil && MomentWords.text(odd) == odd)
        }
    }

    @Test func `numbers have the right noun`() {
        #expect("\(Count(1, "task"))" == "1 task" && "\(Count(0, "task"))" == "0 tasks")
        #expect("\(Count(2, "delete is", "deletes are"))" == "2 deletes are")
    }
}
