import DocumentModel

extension Replica {
    /// Known facts about mutations whose base moves.
    struct Settlement {
        /// The mutations whose effect the new version contains.
        var applied: Set<Int64> = []
        /// Whether a commit failed because of this document.
        var failed = false
    }

    /// Makes `state` the base of a document and rebases its mutations.
    func moveBase(of path: String, to state: RemoteState, settling settlement: Settlement = Settlement()) throws {
        try transaction {
            let row = try file.row(path)
            let chain = file.journal.sequences(of: path)
            guard !chain.isEmpty else {
                try file.store(state, at: path, row: row)
                return
            }
            var old = try file.base(row)
            var new = try state.base()
            try file.store(state, at: path, row: row)
            for sequence in chain {
                let mutation = try file.mutation(sequence)
                if settlement.applied.contains(sequence) {
                    old = old.followed(by: mutation, agreeing: new)
                    try file.deleteMutation(sequence, .committed(state.version))
                    continue
                }
                let outcome = carry(mutation, sequence, from: old, to: new)
                old = old.followed(by: mutation, agreeing: new)
                switch outcome {
                case .unchanged:
                    file.journal.keep(sequence, isMoved: true, failed: settlement.failed)
                    new = new.followed(by: mutation, agreeing: new)
                case .changed(let changed):
                    let group = file.journal.entries[sequence]?.group ?? 0
                    let failures = (file.journal.entries[sequence]?.failures ?? 0) + (settlement.failed ? 1 : 0)
                    try file.insertMutation(
                        changed, group: group, needsRead: false, replacing: sequence, failures: failures)
                    new = new.followed(by: changed, agreeing: new)
                case .done:
                    try file.deleteMutation(sequence, .committed(state.version))
                case .refused(let reason):
                    file.journal.keep(sequence, isMoved: true, failed: settlement.failed)
                    try file.park([sequence], reason: reason)
                }
            }
        }
    }

    private func carry(
        _ mutation: Mutation, _ sequence: Int64, from old: Base, to new: Base
    ) -> Rebase.Outcome {
        // A receipt has already identified the signed mutations; the others are identified by their
        // effect.
        let wasSent = !receipts.signs(mutation) && file.journal.entries[sequence].map { $0.trace != .none } ?? false
        if wasSent, let field = signatureField(of: mutation) {
            // A number always identifies the same content: a mutation that was combined with a
            // later one has another number.
            if new.fields?[field]?.mapValue?[replicaID] == .integer(sequence) { return .done }
        }
        let rebase = Rebase(policy: policies.policy(of: mutation.name.collectionID), replica: replicaID)
        return rebase.carry(mutation, from: old, to: new, id: "\(replicaID)-\(sequence)", wasSent: wasSent)
    }
}

extension Base {
    /// Returns the base of the mutation that follows `mutation`.
    ///
    /// - Parameter remote: supplies the values of fields that contain the commit's time, so that a
    ///   time that this replica cannot know never looks like a difference. A placeholder stands for
    ///   a time that the remote does not have yet, because the next mutation may remove the field.
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
