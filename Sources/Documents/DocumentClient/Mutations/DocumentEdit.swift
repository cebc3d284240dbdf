package import DocumentModel

/// The edit of a document as a whole: what it was, and what it is to be.
package struct DocumentEdit: Sendable, Hashable {
    package let name: DocumentName
    /// The content that the edit started from.
    package let base: [String: Value]
    /// The content that is wanted.
    package let wanted: [String: Value]
    /// The fields that get the time of the commit.
    package let commitTimes: [FieldPath]

    package init(
        _ name: DocumentName, base: [String: Value], wanted: [String: Value], commitTimes: [FieldPath] = []
    ) {
        self.name = name
        self.base = base
        self.wanted = wanted
        self.commitTimes = commitTimes
    }

    /// The edit as a mutation of the content that it started from; nil if it changes nothing.
    package var mutation: Mutation? {
        let paths = FieldDifference.paths(from: base, to: wanted).filter { path in
            !commitTimes.contains { $0.isPrefix(of: path) }
        }
        guard !paths.isEmpty || !commitTimes.isEmpty else { return nil }
        var fields: [String: Value] = [:]
        for path in paths { fields.setValue(wanted.value(at: path.segments[...]), at: path.segments[...]) }
        return Mutation(
            .update, name, fields: fields, mask: paths,
            transforms: commitTimes.map { FieldTransform($0, .serverTimestamp) })
    }
}

extension Replica {
    /// Adds mutations and edits to the journal; see `ReplicaFile.append`.
    func append(_ mutations: [Mutation], edits: [DocumentEdit], asOne: Bool) throws -> [Int64] {
        try transaction {
            try append(mutations + edits.compactMap { try mutation(for: $0) }, asOne: asOne)
        }
    }

    /// Returns the mutation of the present document that an edit amounts to; nil if there is nothing
    /// left to change.
    private func mutation(for edit: DocumentEdit) throws -> Mutation? {
        guard let mutation = edit.mutation else { return nil }
        let present = try snapshot(edit.name)
        // The versions only need to differ: what was edited and what is there now are compared.
        let base = Base.exists(fields: edit.base, updateTime: .distantPast)
        let now: Base =
            present.exists
            ? .exists(fields: present.fields, updateTime: present.updateTime ?? Timestamp(microseconds: 0)) : .missing
        let rebase = Rebase(policy: policies.policy(of: edit.name.collectionID), replica: replicaID)
        let id = "\(replicaID)-e\(file.latestNumber)"
        switch rebase.carry(mutation, from: base, to: now, id: id, wasSent: false) {
        case .unchanged: return mutation
        case .changed(let changed): return changed
        case .done: return nil
        case .refused(let reason): throw DocumentClientError(.notFound, reason)
        }
    }
}
