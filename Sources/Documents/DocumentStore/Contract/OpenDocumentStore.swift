/// A document store that a server has opened, and closes at its end.
package protocol OpenDocumentStore: DocumentStore {
    /// The time by which the newest commit is ahead of the clock because the clock was wrong once;
    /// nil if it is not ahead.
    var leadOfCommits: Duration? { get }

    /// Completes the submitted commits, ends the listeners, and closes the store.
    func close() async
}
