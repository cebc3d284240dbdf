import CivilTime
import DocumentModel
import SystemIO
import Testing

@testable import MorningMail
@testable import TaskModel

@Suite struct MorningDigestTests {
    /// 08:00 on Monday 30 November 2026 in Berlin.
    private let now = UTCTime(rfc3339: "2026-11-30T07:00:00Z")?.seconds ?? 0
    private let berlin: ZoneOffsets

    init() throws { berlin = try #require(TimeZones()["Europe/Berlin"]) }

    private func task(_ title: String, _ due: String?, priority: Priority? = nil, completed: Bool = false) -> TaskItem {
        TaskItem(title: title, priority: priority, completed: completed, due: due.flatMap { Due(parsing: $0) })
    }

    @Test func `the tasks of today and those overdue are listed in order`() throws {
        let digest = try #require(
            MorningDigest(
                [
                    task("Taxes", "2026-11-28"), task("Call", "2026-11-30T17:00"),
                    task("Milk", "2026-11-30", priority: .high),
                    task("Done", "2026-11-30", completed: true), task("Later", "2026-12-01"), task("Some day", nil),
                    // Midnight in Berlin is a time of tomorrow there.
                    task("Train", "2026-11-30T22:59Z"), task("Tomorrow", "2026-11-30T23:00Z"),
                    task("Flight", "2026-11-29T22:30Z"),
                ], at: now, in: berlin))
        #expect(digest.subject == "Tasks: 3 due today, 2 overdue")
        #expect(
            digest.text == """
                Today, Monday 2026-11-30

                - Milk (high)
                - 17:00  Call
                - 23:59  Train

                Overdue

                - 2026-11-28  Taxes
                - 2026-11-29 23:30  Flight


                """)
    }

    @Test func `a day without tasks has no mail`() {
        #expect(MorningDigest([], at: now, in: berlin) == nil)
        #expect(MorningDigest([task("Later", "2026-12-01"), task("Some day", nil)], at: now, in: berlin) == nil)
        var trashed = task("Gone", "2026-11-30")
        trashed.deletedTime = Timestamp(microseconds: 0)
        #expect(MorningDigest([trashed], at: now, in: berlin) == nil)
    }

    @Test func `words, keys and zones of a task count as on its user's machines`() throws {
        var done = task("Done", "2026-11-30")
        done.fields["status"] = .string("done")
        var near = task("Near", nil)
        near.fields["Due"] = .string("2026-11-30")
        near.fields["priority"] = .string("urgent")
        var tokyo = task("Tokyo", "2026-12-01T01:00")
        tokyo.fields["tzid"] = .string("Asia/Tokyo")
        let zones = TimeZones()
        let digest = try #require(MorningDigest([done, near, tokyo], at: now, in: berlin) { zones[$0] })
        #expect(digest.text == "Today, Monday 2026-11-30\n\n- Near (high)\n- 17:00  Tokyo\n\n")
    }

    @Test func `a title stays on its line`() throws {
        let evil = "A\r\n.\r\nBcc: x@y\u{2028}b\u{202E}c\u{0}\u{1B}[2J" + String(repeating: "\u{1F600}", count: 400)
        let digest = try #require(MorningDigest([task(evil, "2026-11-30")], at: now, in: berlin))
        let lines = digest.text.split(separator: "\n")
        #expect(lines.count == 2 && lines[1].hasPrefix("- A  .  Bcc: x@y b c  [2J") && lines[1].utf8.count < 990)
        #expect(digest.text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
        #expect(digest.subject.utf8.count < 78)
    }

    @Test func `many tasks are counted`() throws {
        let many = (0..<250).map { task("t\($0)", "2026-11-30") }
        let digest = try #require(MorningDigest(many, at: now, in: berlin))
        #expect(digest.text.contains("and 150 more\n") && digest.subject == "Tasks: 250 due today")
    }

    @Test func `a mail comes once a day by the clocks of the zone`() throws {
        let schedule = MorningSchedule(minute: 2 * 60 + 30, zone: berlin)
        func seconds(_ text: String) -> Int64 { UTCTime(rfc3339: text)?.seconds ?? 0 }
        // 02:30 does not exist on 28 March 2027, and exists twice on 31 October.
        #expect(schedule.next(after: seconds("2027-03-27T12:00:00Z")) == seconds("2027-03-28T01:30:00Z"))
        #expect(schedule.next(after: seconds("2027-03-28T01:30:00Z")) == seconds("2027-03-29T00:30:00Z"))
        #expect(schedule.next(after: seconds("2027-10-30T12:00:00Z")) == seconds("2027-10-31T00:30:00Z"))
        #expect(schedule.next(after: seconds("2027-10-31T00:30:00Z")) == seconds("2027-11-01T01:30:00Z"))
        let due = seconds("2026-11-30T01:30:00Z")
        let today = Int64(schedule.day(of: due).daysSinceEpoch)
        #expect(schedule.verdict(dueAt: due, sentDay: .min, now: due + 3600) == .send)
        #expect(schedule.verdict(dueAt: due, sentDay: today, now: due + 3600) == .skip)
        #expect(schedule.verdict(dueAt: due, sentDay: today - 1, now: due + 86_400) == .skip)
    }
}
