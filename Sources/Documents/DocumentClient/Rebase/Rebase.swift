import DocumentModel

/// Moves a mutation from the base on which it was made to the remote's present base.
struct Rebase: Sendable {
    enum Outcome: Sendable, Hashable {
        /// The mutation stays as it is, on the new base.
        case unchanged
        case changed(Mutation)
        /// The remote already has the whole change.
        case done
        /// The mutation is not possible on the new base; the text gives the reason.
        case refused(String)
    }

    let policy: any RebasePolicy
    let replica: String

    /// Rebases a mutation.
    ///
    /// - Parameters:
    ///   - id: unique to this rebase; identifies displaced values.
    ///   - wasSent: whether an earlier commit of exactly this mutation has an unknown outcome, so
    ///     that `new` may be its effect.
    func carry(_ mutation: Mutation, from old: Base, to new: Base, id: String, wasSent: Bool) -> Outcome {
        if wasSent, Self.isEffect(of: mutation, on: old, new) { return .done }
        // The time alone does not suffice: it would also be later if an older copy was restored to
        // the remote, or if a version that lacks the change was edited.
        if let copyOf = mutation.copyOf, let time = new.updateTime, time >= copyOf, hasAll(new, of: mutation) {
            return .done
        }
        switch (old, new) {
        case (_, .unknown):
            return .unchanged
        case (.unknown, .missing), (.missing, .missing):
            return withoutDocument(mutation)
        case (.unknown, .exists(let theirs, let time)) where mutation.kind != .create:
            return overwriting(mutation, theirs: theirs, theirTime: time, id: id)
        case (.exists(let base, let time), .missing):
            if mutation.kind == .delete { return withoutDocument(mutation) }
            return decided(mutation, base: base, baseTime: time, theirs: nil, theirTime: nil, id: id)
        case (.unknown, .exists(let theirs, let time)), (.missing, .exists(let theirs, let time)):
            return decided(mutation, base: nil, baseTime: nil, theirs: theirs, theirTime: time, id: id)
        case (.exists(let base, let baseTime), .exists(let theirs, let theirTime)):
            if baseTime == theirTime || base == theirs { return .unchanged }
            return decided(mutation, base: base, baseTime: baseTime, theirs: theirs, theirTime: theirTime, id: id)
        }
    }

    /// Whether the remote's version contains all changes of a copy, as far as their signatures
    /// show.
    private func hasAll(_ new: Base, of copy: Mutation) -> Bool {
        let theirs = signatures(in: new.fields)
        return signatures(in: copy.fields).allSatisfy { replica, number in
            number <= theirs[replica] ?? .min
        }
    }

    private func signatures(in fields: [String: Value]?) -> [String: Int64] {
        let map = policy.signatureField.flatMap { fields?[$0]?.mapValue }
        return map?.compactMapValues(\.integerValue) ?? [:]
    }

    private func withoutDocument(_ mutation: Mutation) -> Outcome {
        switch mutation.kind {
        case .create, .set, .merge: .unchanged
        case .delete: mutation.companions.isEmpty ? .done : .changed(companionsOnly(mutation))
        case .update: .refused("There is no document \(mutation.name.path) to update.")
        }
    }

    private func companionsOnly(_ mutation: Mutation) -> Mutation {
        Mutation(.merge, mutation.name, companions: mutation.companions)
    }

    /// Handles a change of a document that was never received: the change is applied, and the
    /// values that it overwrites are kept.
    private func overwriting(
        _ mutation: Mutation, theirs: [String: Value], theirTime: Timestamp, id: String
    ) -> Outcome {
        guard !mutation.isOnlyCompanions, let mine = mutation.typed(over: theirs) else { return .unchanged }
        let displaced = FieldDifference.paths(from: theirs, to: mine).compactMap { path -> DisplacedValue? in
            guard let value = theirs.value(at: path.segments[...]) else { return nil }
            return DisplacedValue(path: path, value: value, reason: "changedOnBothSides")
        }
        var proposal = RebaseProposal(mutation: mutation, base: nil, theirs: theirs)
        proposal.merged = mine
        proposal.displaced = displaced
        var result = mutation
        result.companions = companions(of: mutation, proposal, baseTime: nil, theirTime: theirTime, id: id)
        return result == mutation ? .unchanged : .changed(result)
    }

    private func decided(
        _ mutation: Mutation, base: [String: Value]?, baseTime: Timestamp?, theirs: [String: Value]?,
        theirTime: Timestamp?, id: String
    ) -> Outcome {
        if mutation.isOnlyCompanions { return .unchanged }
        var proposal = RebaseProposal(mutation: mutation, base: base, theirs: theirs)
        policy.decide(&proposal)
        // A merge of two versions contains the signatures of both.
        if base == nil, let field = policy.signatureField, proposal.merged != nil {
            let both = signatures(in: theirs).merging(signatures(in: proposal.mine)) { max($0, $1) }
            if !both.isEmpty { proposal.merged?[field] = .map(both.mapValues { .integer($0) }) }
        }
        let companions = companions(of: mutation, proposal, baseTime: baseTime, theirTime: theirTime, id: id)
        let result: Mutation
        switch (proposal.merged, theirs) {
        case (nil, nil):
            result = Mutation(.merge, mutation.name, companions: companions)
        case (nil, _?):
            result = Mutation(.delete, mutation.name, companions: companions)
        case (let merged?, nil):
            result = Mutation(
                .create, mutation.name, fields: merged, transforms: proposal.transforms, companions: companions)
        case (let merged?, let theirs?):
            let mask = FieldDifference.paths(from: theirs, to: merged)
            var fields: [String: Value] = [:]
            for path in mask { fields.setValue(merged.value(at: path.segments[...]), at: path.segments[...]) }
            let keepsTransforms = !mask.isEmpty || isWorthSending(proposal.transforms, of: mutation)
            result = Mutation(
                .update, mutation.name, fields: fields, mask: mask,
                transforms: keepsTransforms ? proposal.transforms : [], companions: companions)
        }
        if !result.isOnlyCompanions, !result.hasEffect { return .done }
        return result == mutation ? .unchanged : .changed(result)
    }

    /// Whether the remaining transforms justify a write. Server timestamps alone record when a
    /// change was made and are dropped if nothing of the change is left.
    private func isWorthSending(_ transforms: [FieldTransform], of mutation: Mutation) -> Bool {
        if transforms.contains(where: { $0.operation != .serverTimestamp }) { return true }
        let wasOnlyTransforms =
            (mutation.kind == .update || mutation.kind == .merge) && mutation.mask.isEmpty
            && !mutation.transforms.isEmpty
        return wasOnlyTransforms && transforms == mutation.transforms
    }

    private func companions(
        of mutation: Mutation, _ proposal: RebaseProposal, baseTime: Timestamp?, theirTime: Timestamp?, id: String
    ) -> [Write] {
        guard !proposal.displaced.isEmpty else { return mutation.companions }
        let context = RebaseContext(
            name: mutation.name, baseTime: baseTime == .distantPast ? nil : baseTime, theirTime: theirTime,
            replica: replica, fields: proposal.merged ?? [:], id: id)
        return mutation.companions + policy.history(of: proposal.displaced, in: context)
    }

    /// Whether `new` is exactly the effect of `mutation` on `old`. Fields that are set to the
    /// commit's time match any time.
    static func isEffect(of mutation: Mutation, on old: Base, _ new: Base) -> Bool {
        var view = LocalView(fields: old.fields)
        view.apply(mutation)
        switch new {
        case .unknown: return false
        case .missing: return view.fields == nil
        case .exists(var found, let time):
            guard var wanted = view.fields, old.updateTime != time else { return false }
            for path in view.pendingTimes.keys {
                guard case .timestamp? = found.value(at: path.segments[...]) else { return false }
                found.setValue(nil, at: path.segments[...])
                wanted.setValue(nil, at: path.segments[...])
            }
            return found == wanted
        }
    }
}
