import DocumentModel
import SystemIO
import Testing

@testable import DocumentStore

struct ListenHubTests {
    /// A large number of listeners: the first begins to read long before the last is notified.
    @Test func `a listener can read a commit as soon as it is notified of it`() async throws {
        let clock = CommitClock(persisted: 0, lastCommit: 0) { 1_000_000 }
        let hub = ListenHub(clock: clock, loads: 1)
        let name = try DocumentName(database: DatabaseName(project: "ferry"), collection: "lists", id: "work")
        let mailboxes = (0..<5000).map { _ in
            let (stream, mailbox) = hub.open(mailboxLimit: 10)
            _ = hub.register(1, of: stream, .documents([name]))
            return mailbox
        }
        let time = clock.assign()
        let readers = mailboxes.prefix(200).map { mailbox in
            Task { () -> Int64 in
                _ = await mailbox.next()
                // A reader on another thread whose snapshot contains the commit.
                return clock.readTime(visible: time).time
            }
        }
        let change = CommitRecord.Change(
            name: name, before: nil, after: nil, encoded: nil)
        hub.publish([CommitRecord(time: Timestamp(microseconds: time), changes: [change])], lease: nil)
        for reader in readers { #expect(await reader.value >= time) }
        hub.closeAll()
    }

    /// A listener that was busy once may then wait for hours.
    @Test func `an empty mailbox keeps the memory of a few commits`() throws {
        let mailboxes = (0..<50).map { _ in ListenMailbox(limit: 1000) }
        let before = ProcessMemory.inUse
        for mailbox in mailboxes {
            for time in 0..<1000 as Range<Int64> {
                mailbox.post(CommitRecord(time: Timestamp(microseconds: time), changes: []), targets: [])
            }
            while mailbox.take(if: { _ in true }) != nil {}
        }
        #expect(ProcessMemory.inUse - before < mailboxes.count * (2 << 10))
    }
}
