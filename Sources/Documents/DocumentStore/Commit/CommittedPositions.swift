import DocumentModel
import FirestoreProtocol
import SQLite

/// The commits of clients' streams that have been applied, with their results. Used inside the
/// writer's transactions.
struct CommittedPositions {
    let sqlite: SQLiteDatabase

    /// Returns the result of the commit at a position; nil if there was none.
    ///
    /// - Throws: `.otherCommit` if a different commit was made there.
    func result(at position: StreamPosition) throws -> CommitResult? {
        let found = try sqlite.first(
            "SELECT digest, response FROM stream WHERE stream=? AND number=?",
            [.text(position.stream), .integer(position.number)]
        ) { row in (digest: row.bytes(0), response: row.bytes(1)) }
        guard let found else { return nil }
        guard found.digest == position.digest else { throw DocumentStoreError.otherCommit }
        let response = try CommitResponse(decoding: found.response)
        return CommitResult(
            writeResults: response.writeResults, commitTime: response.commitTime ?? Timestamp(microseconds: 0))
    }

    func add(_ position: StreamPosition, _ result: CommitResult) throws {
        let response = CommitResponse(writeResults: result.writeResults, commitTime: result.commitTime)
        try sqlite.execute(
            "INSERT INTO stream(stream, number, time, digest, response) VALUES(?,?,?,?,?)",
            [
                .text(position.stream), .integer(position.number), .integer(result.commitTime.microseconds),
                .blob(position.digest), .blob(response.encoded()),
            ])
    }

    /// Removes up to `limit` commits that are not later than `time`.
    func prune(through time: Int64, limit: Int) throws {
        try sqlite.execute(
            """
            DELETE FROM stream WHERE (stream, number) IN
            (SELECT stream, number FROM stream WHERE time<=? ORDER BY time LIMIT ?)
            """, [.integer(time), .int(limit)])
    }
}
