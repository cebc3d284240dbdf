import TaskModel
import Testing

@testable import FerryDaemon

@Suite("Notices of reminders")
struct NoticeTextTests {
    private let all: Set<String> = ["actions", "body", "body-markup"]

    @Test func `one reminder has its title, its note, its date and all actions`() {
        let text = NoticeText(
            [.init(title: "Call Anna", due: "2026-11-30T17:00", list: "Home", note: "Bring cake")], capabilities: all)
        #expect(text.summary == "Call Anna")
        #expect(text.body == "Bring cake\nDue 2026-11-30 17:00 · Home")
        #expect(text.actions.map(\.key) == ["default", "done", "snooze"])
    }

    @Test func `several reminders are counted, and a long list is cut`() {
        let items = (1...10).map { NoticeText.Item(title: "Task \($0)") }
        let text = NoticeText(items, capabilities: all)
        #expect(text.summary == "10 reminders")
        #expect(text.body.split(separator: "\n").count == 9 && text.body.hasSuffix("\nand 2 more"))
        #expect(text.actions.map(\.key) == ["default", "snooze"])
    }

    @Test func `a server gets only what it supports`() {
        let item = NoticeText.Item(title: "A <b> & c", note: "<i>x</i> & \"y\"")
        #expect(NoticeText([item], capabilities: []).body.isEmpty)
        #expect(NoticeText([item], capabilities: []).actions.isEmpty)
        #expect(NoticeText([item], capabilities: ["body"]).body == "<i>x</i> & \"y\"")
        #expect(NoticeText([item], capabilities: all).body == "&lt;i&gt;x&lt;/i&gt; &amp; &quot;y&quot;")
        // The specification has no markup in summaries.
        #expect(NoticeText([item], capabilities: all).summary == "A <b> & c")
    }

    @Test func `control characters and endless texts of others are tamed`() {
        #expect(NoticeText.plain("a\u{1b}[31m\nb\u{202e}c\u{0}") == "a [31m b c ")
        let long = NoticeText.plain(String(repeating: "ä", count: 5000))
        #expect(long.count == 200 && long.hasSuffix("…"))
    }
}

@Suite("What a restart knows about reminders")
struct ReminderStateTests {
    @Test func `shown reminders and open notices are kept`() throws {
        var state = ReminderState(since: 1000)
        let key = ReminderKey(task: "a", reminder: "due", time: 2000)
        var planner = ReminderPlanner(since: 1000, shown: [key], open: [ReminderNotice(id: 1, keys: [key])])
        state.planner = planner
        (state.numbers, state.server) = ([1: 42], ":1.7")
        #expect(ReminderState(state.bytes) == state)
        // A notice that the server has not confirmed is not known after a restart.
        state.numbers = [:]
        planner.forget(1)
        #expect(ReminderState(state.bytes)?.planner.open == [])
        #expect(ReminderState(state.bytes)?.planner.shown == [key])
    }

    @Test(arguments: ["", "{", "[]", "{\"since\": \"x\"}", "{\"version\": 1}"])
    func `other texts are not a state`(_ text: String) { #expect(ReminderState(Array(text.utf8)) == nil) }

    @Test func `wrong elements are left out`() throws {
        let text = #"{"since":5,"shown":[["a","b",1],["a"],7],"open":[{"number":-3,"keys":[["a","b",1]]},{"keys":[]}]}"#
        let state = try #require(ReminderState(Array(text.utf8)))
        #expect(state.planner.shown.count == 1 && state.planner.open.count == 1 && state.numbers == [1: 0])
    }
}
