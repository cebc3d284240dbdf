import DocumentModel
import FirestoreProtocol
import SQLite

extension Replica {
    /// Stores the identity of the remote. Returns the known identity if it is a different one; then
    /// nothing is changed.
    func bindRemote(_ identity: String) throws -> String? {
        let sql = "SELECT value FROM client_state WHERE key='remote'"
        guard let known = try database.first(sql, [], { $0.text(0) }) else {
            try transaction { try setRemote(identity) }
            return nil
        }
        return known == identity ? nil : known
    }

    /// Stores the lineage of the remote. Returns whether a different one is known; then nothing is
    /// changed.
    func isOther(lineage: String) throws -> Bool {
        let sql = "SELECT value FROM client_state WHERE key='lineage'"
        if let known = try database.first(sql, [], { $0.text(0) }) { return known != lineage }
        try transaction {
            try database.execute("INSERT INTO client_state VALUES('lineage', ?)", [.text(lineage)])
        }
        return false
    }

    /// Returns the newest commit that the remote is known to have had.
    func newestCommit() throws -> Timestamp? {
        try database.first("SELECT value FROM client_state WHERE key='newest'") {
            Timestamp(microseconds: $0.int64(0))
        }
    }

    private func setRemote(_ identity: String) throws {
        try database.execute(
            "INSERT INTO client_state VALUES('remote', ?1) ON CONFLICT DO UPDATE SET value=?1", [.text(identity)])
    }

    /// Starts over with another remote, or with one that lost its newest commits.
    ///
    /// Everything that this replica shows is offered to the remote as new and merged with its
    /// content. Nothing is deleted on either side. For a document that was not changed here the
    /// later version wins, because this replica's copy may be much older.
    func adoptRemote(_ identity: String?) throws {
        try transaction {
            if let identity { try setRemote(identity) }
            var paths: [String] = []
            try database.query("SELECT collection, name FROM client_document WHERE state IN (0, 2, 4)") { row in
                paths.append("\(row.text(0))/\(row.text(1))")
            }
            for path in paths {
                let name = try DocumentName(database: databaseName, path: path)
                let snapshot = try snapshot(name)
                let changes = file.journal.sequences(of: path)
                // Displaced values exist only in the companions of mutations.
                let companions = try changes.flatMap { try file.mutation($0).companions }
                for sequence in changes { try file.deleteMutation(sequence, .discarded) }
                if snapshot.exists {
                    // A time that no remote has assigned yet is requested again.
                    let times = snapshot.pendingTimePaths.sorted().map { FieldTransform($0, .serverTimestamp) }
                    var fields = snapshot.fields(pendingTimes: .previous)
                    for time in times { fields.setValue(nil, at: time.path.segments[...]) }
                    var offer = Mutation.create(name, fields, transforms: times)
                    offer.companions = companions
                    if changes.isEmpty { offer.copyOf = snapshot.updateTime }
                    try file.insertMutation(offer, group: 0, needsRead: false)
                } else if !companions.isEmpty {
                    let rest = Mutation(.merge, name, companions: companions)
                    try file.insertMutation(rest, group: 0, needsRead: false)
                }
                file.changedPaths.insert(path)
            }
            held = []
            file.forgetDecoded()
            file.journal.forgetJobs()
            try database.execute(
                """
                UPDATE client_document SET state=0, fields=NULL, created=0, version=0,
                    sum=row_sum(collection, name, 0, NULL, 0, 0)
                WHERE state<>0
                """)
            try database.execute("DELETE FROM client_member")
            try database.execute("UPDATE client_target SET token=x''")
            try database.execute("DELETE FROM client_state WHERE key IN ('read_time', 'newest', 'lineage')")
        }
    }
}
