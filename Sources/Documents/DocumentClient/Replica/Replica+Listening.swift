import DocumentModel
import FirestoreProtocol
import SQLite
import SystemIO

extension Replica {
    /// The follow-up work of applying boundaries.
    struct ListenOutcome {
        /// Targets whose members do not agree with the remote's count, to be requested again.
        var mismatched: Set<Int32> = []
        /// Documents that a target no longer contains for an unknown reason, to be read.
        var missing: [DocumentName] = []
        /// Documents that are known only from this replica's own commits although every target has
        /// reported all its documents, to be read.
        var unreported: [DocumentName] = []
        /// Whether the remote is older than the state that this replica has seen: it was restored
        /// from a backup or replaced.
        var wentBack = false
    }

    /// The time by which a boundary may be earlier than a previous one. The remote's clock never
    /// goes back. The margin prevents a false alarm if times of several remotes are merged
    /// imprecisely.
    static let toleratedMicroseconds: Int64 = 60_000_000

    /// Adds a boundary, and applies the waiting boundaries up to the first that concerns a document
    /// with a commit in flight.
    func receive(_ boundary: Boundary) throws -> ListenOutcome {
        held.append(boundary)
        return try applyHeld()
    }

    /// Takes documents over that were read on their own. Those with a commit in flight wait for its
    /// outcome; the others wait for nothing, since no version is replaced by an older one.
    func keep(_ items: [Boundary.Item]) throws -> ListenOutcome {
        let time = try remoteTime ?? Timestamp(microseconds: 0)
        func boundary(_ items: [Boundary.Item]) -> Boundary {
            Boundary(items: items, readTime: time, resumeToken: [], targets: [])
        }
        var outcome = ListenOutcome()
        let waiting = boundary(items.filter(isPinned))
        try transaction { try apply(boundary(items.filter { !isPinned($0) }), &outcome) }
        if !waiting.items.isEmpty { held.append(waiting) }
        return outcome
    }

    /// Applies the boundaries that waited for the outcome of a commit.
    func applyHeld() throws -> ListenOutcome {
        var outcome = ListenOutcome()
        while let boundary = held.first, !outcome.wentBack, !touchesPinned(boundary) {
            try transaction { try apply(boundary, &outcome) }
            if !outcome.wentBack { held.removeFirst() }
        }
        return outcome
    }

    /// The newest time up to which the remote has reported everything; nil before the first
    /// boundary.
    var remoteTime: Timestamp? {
        get throws {
            try database.first("SELECT value FROM client_state WHERE key='read_time'") {
                Timestamp(microseconds: $0.int64(0))
            }
        }
    }

    private func touchesPinned(_ boundary: Boundary) -> Bool {
        file.journal.count > 0 && boundary.items.contains(where: isPinned)
    }

    private func isPinned(_ item: Boundary.Item) -> Bool { item.name.map { file.journal.isPinned($0.path) } ?? false }

    private func apply(_ boundary: Boundary, _ outcome: inout ListenOutcome) throws {
        let known = try remoteTime
        if let known,
            boundary.readTime.microseconds
                < known.microseconds.saturatingSubtracted(by: Self.toleratedMicroseconds)
        {
            outcome.wentBack = true
            return
        }
        var rounds: [Int32: Int64] = [:]
        for item in boundary.items {
            switch item {
            case .reset(let restarted):
                for target in restarted.sorted() {
                    try targets.restart(target)
                    rounds[target] = nil
                }
            case .changed(let document, let added, let removed):
                guard document.name.database == databaseName else { continue }
                let id = try take(.exists(document), at: document.name.path)
                for target in added {
                    let round = try rounds[target] ?? targets.round(of: target)
                    rounds[target] = round
                    try targets.insert(id, into: target, round: round)
                }
                if !removed.isEmpty { try leave(removed, id: id, path: document.name.path) }
            case .deleted(let name, let readTime):
                guard name.database == databaseName else { continue }
                let id = try take(.missing(readTime ?? boundary.readTime), at: name.path)
                try targets.remove(id)
            case .left(let name, let removed):
                guard let row = try file.row(name.path) else { continue }
                try leave(removed, id: row.id, path: name.path)
            case .current(let complete):
                for target in complete.sorted() {
                    outcome.missing += try targets.removeUnnamed(target).map {
                        try DocumentName(database: databaseName, path: $0)
                    }
                }
            case .count(let target, let count):
                if try targets.count(of: target) != Int64(count) { outcome.mismatched.insert(target) }
            }
        }
        for (target, query) in boundary.named.sorted(by: { $0.key < $1.key }) {
            try UnnamedDocuments(file: file).hide(outOf: target, query, boundary)
        }
        if boundary.isComplete { try confirm(until: boundary.readTime, &outcome) }
        try note(boundary)
    }

    private func note(_ boundary: Boundary) throws {
        if !boundary.resumeToken.isEmpty, !boundary.targets.isEmpty {
            try targets.setToken(boundary.resumeToken, of: boundary.targets)
        }
        try database.execute(
            """
            INSERT INTO client_state VALUES('read_time', ?1)
            ON CONFLICT DO UPDATE SET value=max(value, excluded.value)
            """, [.integer(boundary.readTime.microseconds)])
        if let newest = boundary.newestCommit {
            try database.execute(
                """
                INSERT INTO client_state VALUES('newest', ?1)
                ON CONFLICT DO UPDATE SET value=max(value, excluded.value)
                """, [.integer(newest.microseconds)])
        }
        try file.forgetMissing(until: boundary.readTime)
    }

    /// Moves a document's base unless the known version is newer. Returns the row's id.
    private func take(_ state: RemoteState, at path: String) throws -> Int64 {
        let row = try file.row(path)
        if let row, row.state != .unknown, row.version >= state.version {
            if row.state == .outside, case .exists = state, row.version == state.version {
                try file.setState(.exists, of: row.id, at: path)
            }
            return row.id
        }
        if row?.state == .missing, case .missing(let time) = state, let row {
            try database.execute(
                """
                UPDATE client_document SET version=?1, sum=row_sum(collection, name, state, fields, created, ?1) WHERE id=?2
                """, [.integer(time.microseconds), .integer(row.id)])
            return row.id
        }
        guard !file.journal.sequences(of: path).isEmpty else { return try file.store(state, at: path, row: row) }
        try moveBase(of: path, to: state)
        return try file.row(path)?.id ?? 0
    }

    /// Takes a document out of targets; one that no target contains any more is not shown.
    private func leave(_ removed: [Int32], id: Int64, path: String) throws {
        for target in removed { try targets.remove(id, from: target) }
        if try !targets.contain(id), try file.row(path)?.state == .exists {
            try file.setState(.outside, of: id, at: path)
        }
    }

    /// Removes a query's target, and the documents that no other target contains.
    func forget(_ query: Query) throws {
        try transaction {
            let target = try target(for: query).id
            for (id, path) in try targets.members(of: target) { try leave([target], id: id, path: path) }
            try targets.delete(target)
        }
    }

    /// Returns the target of a query, and creates it if necessary.
    func target(for query: Query) throws -> RemoteTarget { try transaction { try targets.target(for: query) } }

    /// Removes the tokens of targets, so that the next stream starts them from the beginning.
    func forgetTokens(of restarted: Set<Int32>) throws {
        try transaction { try targets.setToken([], of: restarted) }
    }

    /// Applies the response for `ListenOutcome.missing`; nil if the remote would not show the
    /// documents.
    func resolveMissing(_ names: [DocumentName], _ answer: RemoteRead?) throws -> ListenOutcome {
        let known = try remoteTime ?? Timestamp(microseconds: 0)
        // The stream will report documents that were created again since the last boundary.
        let renewed = (answer?.found ?? []).filter { $0.updateTime > known }.map(\.name)
        var items: [Boundary.Item] = []
        for document in answer?.found ?? [] where !renewed.contains(document.name) {
            items.append(.changed(document, added: [], removed: []))
        }
        for name in answer?.missing ?? [] { items.append(.deleted(name, readTime: answer?.readTime)) }
        for name in names where !renewed.contains(name) { items.append(.left(name, removed: [])) }
        return try receive(Boundary(items: items, readTime: known, resumeToken: [], targets: []))
    }

    // MARK: Documents not reported by the stream

    /// Handles the fact that every target has reported all its documents up to a time.
    private func confirm(until readTime: Timestamp, _ outcome: inout ListenOutcome) throws {
        for (id, path, isUnreported) in try targets.awaited(until: readTime) {
            if isUnreported {
                outcome.unreported.append(try DocumentName(database: databaseName, path: path))
            } else {
                try leave([TargetTable.unreported], id: id, path: path)
            }
        }
    }

    /// Applies the response for `ListenOutcome.unreported`; nil if the remote would not show the
    /// documents. Documents that exist are in no target and are kept.
    func resolveUnreported(_ names: [DocumentName], _ answer: RemoteRead?) throws -> ListenOutcome {
        let missing = answer?.missing ?? []
        try transaction {
            for name in names where !missing.contains(name) {
                guard let id = try file.row(name.path)?.id else { continue }
                try targets.remove(id, from: TargetTable.unreported)
            }
        }
        let items = missing.map { Boundary.Item.deleted($0, readTime: answer?.readTime) }
        let known = try remoteTime ?? Timestamp(microseconds: 0)
        return try receive(Boundary(items: items, readTime: known, resumeToken: [], targets: []))
    }
}
