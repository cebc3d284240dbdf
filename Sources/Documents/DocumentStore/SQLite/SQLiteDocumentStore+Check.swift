extension SQLiteDocumentStore {
    /// Reads everything and returns a line for each contradiction; an empty array if the database
    /// is sound.
    ///
    /// Compares the index with the documents, and the log with both. Other work continues
    /// meanwhile.
    package func check() async throws -> [String] {
        try await readers.readTables { tables, visible in
            try ConsistencyCheck(tables: tables).problems(visible: visible)
        }
    }
}
