/// Parameters that affect how queries are run, but never their results.
package struct QueryTuning: Sendable, Hashable {
    /// The number of documents up to which results are collected and sorted rather than read in
    /// their order.
    package var gatherLimit = 2000
    /// The number of documents that a query must at least read in vain before a composite index is
    /// created for its form.
    package var compositeMinimum = 100
    /// The minimum ratio of documents read to documents wanted before a composite index is created.
    package var compositeGain = 4
    /// The maximum number of documents in one page of results.
    package var pageCount = 300
    /// The size of documents in bytes at which a page ends.
    package var pageBytes = 1 << 20

    package init() {}
}
