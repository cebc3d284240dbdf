/// The times for which a path must be unchanged before a change counts.
package struct SettleTimes: Sendable {
    /// The time after a writer has closed the file, or it was renamed into place.
    package var closed: Duration = .milliseconds(8)
    /// The time after a file was seen in a new directory, whose writer may still be at work.
    package var found: Duration = .milliseconds(30)
    /// The time without a write while the writer has not closed the file.
    package var quiet: Duration = .milliseconds(150)
    /// The maximum time while the file keeps changing.
    package var longest: Duration = .seconds(2)
    /// The time without a write for an attachment, longer because half of a long copy is useless.
    /// `attachmentLongest` corresponds to `longest`.
    package var attachmentQuiet: Duration = .seconds(1)
    package var attachmentLongest: Duration = .seconds(60)
    /// The time for a file that had content before and is empty now, because editors truncate
    /// before they write.
    package var empty: Duration = .seconds(1)
    /// The time for a file that is absent, because editors delete before they create.
    package var removed: Duration = .seconds(1)
    /// The maximum number of pending changes. Above it they are replaced by a scan.
    package var limit = 200_000

    package init() {}
}
