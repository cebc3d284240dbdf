import DocumentModel

extension ReplicaFile {
    /// Adds mutations to the journal, each after the others of its document. Unsent mutations of a
    /// document are combined.
    ///
    /// - Parameter asOne: whether they take effect in one commit or not at all.
    /// - Returns: The positions under which `outcomes` will report the mutations. One that had
    ///   nothing to change has none.
    /// - Throws: `DocumentClientError` for an invalid mutation; then none is added.
    @discardableResult func append(_ mutations: [Mutation], asOne: Bool = false) throws -> [Int64] {
        try transaction {
            var group: Int64 = asOne && mutations.count > 1 ? -1 : 0
            var positions: [Int64] = []
            for mutation in mutations {
                guard let (sequence, position) = try append(mutation, group: group) else { continue }
                if group == -1 { group = sequence }
                positions.append(position)
            }
            return positions
        }
    }

    private func append(_ mutation: Mutation, group: Int64) throws -> (sequence: Int64, position: Int64)? {
        let path = mutation.name.path
        guard mutation.name.database == databaseName else {
            throw DocumentClientError(
                .invalid, "\(mutation.name) is in another database than this client's, \(databaseName).")
        }
        try touch(path)
        let chain = journal.sequences(of: path)
        var state = DocumentRow.State.unknown
        if let row = try row(path) {
            state = row.state
            if state == .outside, chain.isEmpty {
                // The user does not see this earlier version, so the mutation must not be based on
                // it.
                state = .unknown
                try forgetBase(of: row.id)
            }
        }
        if chain.isEmpty, state == .missing, mutation.kind == .update {
            throw DocumentClientError(
                .notFound, "There is no document \(path) to update. Set or create it instead.")
        }
        for sequence in chain where journal.entries[sequence]?.isParked == true {
            // The new edit may resolve the reason for the rejection.
            try unpark(sequence)
        }
        if group == 0, let last = journal.joinable(path) {
            let before = try self.mutation(last)
            let isFirst = chain.first == last
            if isFirst, before.kind == .create, mutation.kind == .delete, before.companions.isEmpty,
                before.copyOf == nil
            {
                guard let position = journal.entries[last]?.position else { return nil }
                try deleteMutation(last, .committed(nil))
                return (last, position)
            }
            if let joined = before.followed(by: mutation) {
                let needsRead = isFirst && state == .unknown && joined.needsRead(on: .unknown)
                return placed(try insertMutation(joined, group: 0, needsRead: needsRead, replacing: last))
            }
        }
        if chain.isEmpty, state == .missing, mutation.kind == .delete { return nil }
        let needsRead = chain.isEmpty && state == .unknown && mutation.needsRead(on: .unknown)
        return placed(try insertMutation(mutation, group: group, needsRead: needsRead))
    }

    private func placed(_ sequence: Int64) -> (sequence: Int64, position: Int64)? {
        journal.entries[sequence].map { (sequence, $0.position) }
    }

    /// Discards the mutations of a document that were not sent or were rejected. Those that may be
    /// in flight are kept.
    func giveUp(_ path: String) throws {
        try transaction {
            for sequence in journal.sequences(of: path) {
                guard let entry = journal.entries[sequence], entry.isUnsent || entry.isParked else { continue }
                try deleteMutation(sequence, .discarded)
            }
            try touch(path)
        }
    }

    /// Discards a rejected mutation and the others of its group.
    func discard(_ sequence: Int64) throws {
        try transaction {
            guard let entry = journal.entries[sequence], entry.isParked else { return }
            let group = journal.entries.values.filter { entry.group != 0 && $0.group == entry.group }.map(\.sequence)
            for member in Set(group + [sequence]).sorted() {
                guard let path = journal.entries[member]?.path else { continue }
                try deleteMutation(member, .discarded)
                try touch(path)
                try requireRead(path)
            }
        }
    }

    /// Makes the first mutation of a document wait for a read if it needs one, because the base of
    /// the document is unknown.
    func requireRead(_ path: String) throws {
        guard let first = journal.sequences(of: path).first else { return }
        let isUnknown = try row(path).map { $0.state == .unknown } ?? true
        journal.setNeedsRead(first, try isUnknown && mutation(first).needsRead(on: .unknown))
    }
}
