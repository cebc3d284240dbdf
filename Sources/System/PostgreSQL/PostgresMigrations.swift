extension PostgresConnection {
    /// Brings the tables of a schema to the present version, and creates the schema if necessary.
    /// Servers that start at the same time take turns.
    ///
    /// The table `migration` of the schema has a row for each version.
    ///
    /// - Parameter versions: The statements of each version, from the first one on.
    /// - Throws: `PostgresError`, also for tables of a later version.
    package func migrate(_ schema: String, _ versions: [[String]]) throws(PostgresError) {
        // A change of large tables takes its time, and so does another server that makes it.
        let limit = answerTimeout
        answerTimeout = nil
        defer { answerTimeout = limit }
        for statement in [
            "CREATE SCHEMA IF NOT EXISTS \(schema)",
            "CREATE TABLE IF NOT EXISTS \(schema).migration(version bigint PRIMARY KEY)",
        ] {
            do { try run(statement) } catch  where ["23505", "42710", "42P06", "42P07"].contains(error.state) {
                // Another server created it at the same moment.
            }
        }
        try run("BEGIN")
        do throws(PostgresError) {
            try run("LOCK TABLE \(schema).migration IN EXCLUSIVE MODE")
            let version = try run("SELECT coalesce(max(version), 0) FROM \(schema).migration").integer(0, 0)
            guard version <= Int64(versions.count) else {
                throw PostgresError(
                    """
                    The tables of \(schema) have version \(version), which is later than this program's \
                    \(versions.count). Upgrade it.
                    """)
            }
            for (index, statements) in versions.enumerated() where index >= Int(version) {
                for statement in statements { try run(statement) }
                try run("INSERT INTO \(schema).migration VALUES($1)", [.integer(Int64(index) + 1)])
            }
            try run("COMMIT")
        } catch {
            _ = try? run("ROLLBACK")
            throw error
        }
    }
}
