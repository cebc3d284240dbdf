import SQLite

extension SQLiteDocumentStore {
    /// Writes a consistent copy of the database to one file while reads and commits go on.
    ///
    /// The copy has a history of its own: a listener's token from the original starts anew in it, because the original may
    /// go on to commits that the copy never sees. Throws `DocumentStoreError`; leaves no partial file.
    package func backUp(to destination: String) async throws {
        let (path, settings) = (path, SQLiteConfiguration().readOnly)
        let thread = SerialThread()
        defer { thread.stop() }
        do {
            try await thread.run {
                let source = try SQLiteDatabase(path: path, configuration: settings)
                try source.backUp(to: destination) { copy in
                    try copy.execute("UPDATE setting SET value=randomblob(8) WHERE name='epoch'")
                }
            }
        } catch {
            throw DocumentStoreError(error)
        }
    }
}
