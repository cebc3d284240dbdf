extension SQLiteDocumentStore {
    /// Reads everything and answers what contradicts itself, one line each; empty when the database is sound.
    ///
    /// Compares the index with the documents, and the log with both. Other work goes on meanwhile.
    package func check() async throws -> [String] {
        try await readers.read { tables, visible in try ConsistencyCheck(tables: tables).problems(visible: visible) }
    }
}
