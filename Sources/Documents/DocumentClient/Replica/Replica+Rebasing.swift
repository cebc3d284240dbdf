import DocumentModel

extension Replica {
    /// What is already known of mutations whose base moves.
    struct Settlement {
        /// The new version contains these.
        var applied: Set<Int64> = []
        /// Whether a commit failed on this document.
        var failed = false
    }

    /// Makes `state` the base of a document and carries its mutations over to it.
    func moveBase(of path: String, to state: RemoteState, settling settlement: Settlement = Settlement()) throws {
        try transaction {
            let row = try row(path)
            let chain = journal.sequences(of: path)
            guard !chain.isEmpty else {
                try store(state, at: path, row: row)
                return
            }
            var old = try base(row)
            var new = try state.base()
            try store(state, at: path, row: row)
            for sequence in chain {
                let mutation = try mutation(sequence)
                if settlement.applied.contains(sequence) {
                    old = old.followed(by: mutation, agreeing: new)
                    try deleteMutation(sequence)
                    continue
                }
                let outcome = carry(mutation, sequence, from: old, to: new)
                old = old.followed(by: mutation, agreeing: new)
                switch outcome {
                case .unchanged:
                    journal.keep(sequence, isMoved: true, failed: settlement.failed)
                    new = new.followed(by: mutation, agreeing: new)
                case .changed(let changed):
                    let group = journal.entries[sequence]?.group ?? 0
                    let failures = (journal.entries[sequence]?.failures ?? 0) + (settlement.failed ? 1 : 0)
                    try insertMutation(
                        changed, group: group, needsRead: false, replacing: sequence, failures: failures)
                    new = new.followed(by: changed, agreeing: new)
                case .done:
                    try deleteMutation(sequence)
                case .refused(let reason):
                    journal.keep(sequence, isMoved: true, failed: settlement.failed)
                    try park([sequence], reason: reason)
                }
            }
        }
    }

    private func carry(
        _ mutation: Mutation, _ sequence: Int64, from old: Base, to new: Base
    ) -> Rebase.Outcome {
        // A receipt has already told about signed mutations; the others are known by their effect.
        let wasSent = !signs(mutation) && journal.entries[sequence].map { $0.trace != .none } ?? false
        if wasSent, let field = signatureField(of: mutation) {
            // A number names one content for ever: one that was joined with a later change has another.
            if new.fields?[field]?.mapValue?[replicaID] == .integer(sequence) { return .done }
        }
        let rebase = Rebase(policy: policies.policy(of: mutation.name.collectionID), replica: replicaID)
        return rebase.carry(mutation, from: old, to: new, id: "\(replicaID)-\(sequence)", wasSent: wasSent)
    }
}

extension Base {
    /// The base of the mutation after `mutation`, as long as that one has no version of its own.
    ///
    /// - Parameter remote: where fields hold the commit's time, its value is taken, so that a time which this replica
    ///   cannot know never looks like a difference. A time that no remote gives stands for one that it does not have yet: the next
    ///   mutation may be what takes it away.
    fileprivate func followed(by mutation: Mutation, agreeing remote: Base) -> Base {
        if mutation.isOnlyCompanions { return self }
        var view = LocalView(fields: fields)
        view.apply(mutation)
        guard var fields = view.fields else { return .missing }
        for path in view.pendingTimes.keys {
            let time = remote.fields.map { $0.value(at: path.segments[...]) ?? .timestamp(.distantPast) }
            fields.setValue(time, at: path.segments[...])
        }
        return .exists(fields: fields, updateTime: updateTime ?? .distantPast)
    }
}
