/// Numbers that decide how queries are run, never what they answer.
package struct QueryTuning: Sendable, Hashable {
    /// Up to how many documents are rather collected and sorted than searched for along the order.
    package var gatherLimit = 2000
    /// How many documents a query must at least meet in vain before a composite index is made for its form.
    package var compositeMinimum = 100
    /// And how many times as many as it wants.
    package var compositeGain = 4
    /// How many documents one page of results has at most.
    package var pageCount = 300
    /// How many bytes of documents close a page.
    package var pageBytes = 1 << 20

    package init() {}
}
