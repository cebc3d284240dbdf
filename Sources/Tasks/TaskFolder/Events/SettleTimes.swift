/// How long to wait before a change counts.
package struct SettleTimes: Sendable {
    /// After a writer has closed the file, or it was renamed into place.
    package var closed: Duration = .milliseconds(8)
    /// After a file was seen in a directory that is new itself: its writer may still be at work.
    package var found: Duration = .milliseconds(30)
    /// Without a write, while the writer has not closed the file.
    package var quiet: Duration = .milliseconds(150)
    /// At most, however much the file goes on changing.
    package var longest: Duration = .seconds(2)
    /// `quiet` and `longest` for an attachment: half of a long copy is of no use to anybody.
    package var attachmentQuiet: Duration = .seconds(1)
    package var attachmentLongest: Duration = .seconds(60)
    /// For a file that was there before and is empty now: editors truncate before they write.
    package var empty: Duration = .seconds(1)
    /// For a file that is gone: editors delete before they create.
    package var removed: Duration = .seconds(1)
    /// As many changes are kept at once; more are given up for a scan.
    package var limit = 200_000

    package init() {}
}
