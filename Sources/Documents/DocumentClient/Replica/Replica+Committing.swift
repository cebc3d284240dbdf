import DocumentModel
import FirestoreProtocol
import SQLite

extension Replica {
    /// A request to the remote.
    enum Request: Sendable, Hashable {
        case commit([Write])
        case read([DocumentName])
    }

    /// Returns the journal's next request; nil while one is in flight and when there is nothing to
    /// do.
    func nextRequest() throws -> Request? {
        if file.journal.current == nil, let probe = try receipts.nextProbe() { return probe }
        guard let job = file.journal.next() else { return nil }
        do {
            return try database.snapshot { try request(for: job) }
        } catch {
            file.journal.forgetOutcome(of: job)
            throw error
        }
    }

    private func request(for job: Journal.Job) throws -> Request {
        switch job {
        case .commit(let sequences):
            var writes: [Write] = []
            var isSigned = false
            for sequence in sequences {
                let mutation = try file.mutation(sequence)
                if receipts.signs(mutation) { isSigned = true }
                let base = try file.base(mutation.name.path)
                writes += signed(mutation, sequence, on: base).writes(on: base)
            }
            if let receipt = receipts.receipt, isSigned {
                writes.append(receipt.write(for: sequences, version: try receipts.version()))
            }
            return .commit(writes)
        case .read(let sequences):
            var names = try sequences.map { try file.mutation($0).name }
            if let receipt = receipts.accepted { names.append(receipt.document) }
            return .read(names)
        }
    }

    /// Records an outcome. If that fails, the state is as if the response had been lost, and a
    /// later attempt determines the outcome.
    private func recording(_ body: () throws -> Void) throws {
        let job = file.journal.current
        do {
            try transaction(body)
        } catch {
            file.journal.forgetOutcome(of: job)
            throw error
        }
    }

    /// Records that the remote applied the commit in flight.
    func committed(_ result: CommitResult) throws {
        try recording {
            if try receipts.probeCommitted(result) { return }
            var results = result.writeResults[...]
            let sent = file.journal.current?.sequences ?? []
            let writeCount = sent.reduce(0) { $0 + (file.journal.entries[$1]?.writeCount ?? 0) }
            try receipts.note(result, writeCount: writeCount)
            for sequence in file.journal.committed() {
                let content = try file.mutation(sequence)
                let path = content.name.path
                let row = try file.row(path)
                let base = try file.base(row)
                let mutation = signed(content, sequence, on: base)
                let mine = results.prefix(mutation.writeCount)
                results = results.dropFirst(mutation.writeCount)
                if mutation.isOnlyCompanions {
                    try file.deleteMutation(sequence, .committed(result.commitTime))
                    try file.touch(path)
                } else if let document = document(after: mutation, base, row, mine.first, result.commitTime) {
                    try moveBase(of: path, to: document, result.commitTime, after: sequence, row: row)
                } else {
                    // The response does not match the request, so the remote's present version must
                    // be read.
                    if let id = row?.id { try file.forgetBase(of: id) }
                    try file.deleteMutation(sequence, .committed(result.commitTime))
                    try file.requireRead(path)
                    try file.touch(path)
                }
            }
        }
    }

    /// Returns the mutation in the form in which it is sent.
    private func signed(_ mutation: Mutation, _ sequence: Int64, on base: Base) -> Mutation {
        guard let field = signatureField(of: mutation) else { return mutation }
        return mutation.signed(in: field, by: replicaID, number: sequence, on: base)
    }

    /// Returns the field in which documents record the changes of each replica; nil if a receipt is
    /// used.
    func signatureField(of mutation: Mutation) -> String? {
        receipts.receipt == nil ? policies.policy(of: mutation.name.collectionID).signatureField : nil
    }

    /// Moves the base of a document after a commit.
    ///
    /// - Parameter document: the remote's document after the mutation; nil if it was deleted.
    private func moveBase(
        of path: String, to document: Document?, _ commitTime: Timestamp, after sequence: Int64, row: DocumentRow?
    ) throws {
        let state: RemoteState = document.map { .exists(EncodedDocument($0)) } ?? .missing(commitTime)
        let others = file.journal.sequences(of: path).filter { $0 != sequence }
        // If no other change intervened, mutations made after this one remain valid on top of its
        // effect.
        let areKept =
            document != nil && row?.state == .exists && others.allSatisfy { file.journal.entries[$0]?.isUnsent == true }
        guard others.isEmpty || areKept else {
            var settlement = Settlement()
            settlement.applied = [sequence]
            try moveBase(of: path, to: state, settling: settlement)
            if row?.state != .exists { try targets.awaitNews(of: path) }
            return
        }
        let id = try file.store(state, at: path, row: row)
        if row?.state != .exists { try targets.awaitNews(of: path) }
        if let document { file.remember(document.fields, of: id, state) }
        try file.deleteMutation(sequence, .committed(commitTime))
        for other in others { file.journal.keep(other, isMoved: true, failed: false) }
    }

    /// Returns the remote's document after a mutation of `base`, `.some(nil)` if it does not exist;
    /// nil if the response does not match the request.
    private func document(
        after mutation: Mutation, _ base: Base, _ row: DocumentRow?, _ result: WriteResult?, _ commitTime: Timestamp
    ) -> Document?? {
        guard let result, let write = mutation.writes(on: base).first else { return nil }
        let before = base.fields.map {
            Document(
                name: mutation.name, fields: $0, createTime: row?.created ?? commitTime,
                updateTime: base.updateTime ?? commitTime)
        }
        do {
            return .some(
                try WriteApplication.document(after: write, of: before, result: result, commitTime: commitTime))
        } catch {
            return nil
        }
    }

    /// Handles a failure of the request in flight. Returns how to continue; mutations to be
    /// rejected are already marked.
    func failed(_ error: RemoteError) throws -> Journal.Verdict {
        if let verdict = receipts.probeFailed(error.code) { return verdict }
        let verdict = file.journal.failed(error.code)
        guard case .park(let sequences) = verdict else { return verdict }
        // The rules may refuse only the receipt, so it is tried alone before mutations are marked
        // as rejected.
        if error.code != .permission || !receipts.probe() {
            try file.park(sequences, reason: "\(error.code): \(error.message)")
        }
        return .goOn(wait: false)
    }

    /// Records the documents of the read in flight.
    func read(_ answer: RemoteRead) throws {
        try recording {
            var states: [String: RemoteState] = [:]
            for document in answer.found { states[document.name.path] = .exists(document) }
            for name in answer.missing { states[name.path] = .missing(answer.readTime) }
            if receipts.probeRead() {
                _ = try noteReceipt(states, for: [])
                return
            }
            let sequences = file.journal.wasRead()
            let (signed, isNewReceipt) = try noteReceipt(states, for: sequences)
            let stale = try sequences.filter { try isStale($0, states: states) }
            for sequence in sequences {
                guard let entry = file.journal.entries[sequence], let state = states[entry.path] else { continue }
                if let row = try file.row(entry.path), row.state != .unknown, row.version > state.version {
                    // The stream was faster than this response, so the mutation is already based on
                    // a newer version.
                    if signed.contains(sequence) { try file.deleteMutation(sequence, .committed(nil)) }
                    file.journal.keep(sequence, isMoved: true, failed: false)
                    continue
                }
                var settlement = Settlement()
                if signed.contains(sequence) { settlement.applied = [sequence] }
                settlement.failed = !entry.needsRead && (stale.contains(sequence) || stale.isEmpty && !isNewReceipt)
                if settlement.applied.isEmpty, !entry.needsRead, !stale.contains(sequence) {
                    file.journal.keep(sequence, isMoved: false, failed: settlement.failed)
                } else {
                    try moveBase(of: entry.path, to: state, settling: settlement)
                    try targets.awaitNews(of: entry.path)
                }
            }
        }
    }

    /// Records the receipt after a read. Returns the mutations that it shows as committed, and
    /// whether it differs from the known one.
    ///
    /// A receipt is recorded as known, so that the next commit may replace it, only if none of its
    /// mutations is unresolved.
    ///
    /// - Parameter sequences: the mutations whose documents were read too.
    private func noteReceipt(
        _ states: [String: RemoteState], for sequences: [Int64]
    ) throws -> (signed: Set<Int64>, isNew: Bool) {
        guard let receipt = receipts.accepted, let state = states[receipt.document.path] else {
            return ([], false)
        }
        let known = try receipts.version()
        switch state {
        case .missing:
            try receipts.setVersion(nil)
            return ([], known != nil)
        case .exists(let document):
            let signed = CommitReceipt.sequences(in: try document.fields.decoded())
            let others = signed.filter { file.journal.entries[$0] != nil }.subtracting(sequences).sorted()
            if others.isEmpty {
                try receipts.setVersion(document.updateTime)
            } else {
                for other in others { try file.unpark(other) }
                file.journal.readNext(others)
            }
            return (signed, known != document.updateTime)
        }
    }

    /// Whether the remote has a version of the document other than the mutation's base.
    private func isStale(_ sequence: Int64, states: [String: RemoteState]) throws -> Bool {
        guard let path = file.journal.entries[sequence]?.path, let state = states[path] else { return false }
        let row = try file.row(path)
        switch (row?.state ?? .unknown, state) {
        case (.unknown, _): return true
        case (.missing, .missing): return false
        case (.missing, .exists): return true
        case (.exists, .missing), (.outside, .missing): return true
        case (.exists, .exists(let document)), (.outside, .exists(let document)):
            return document.updateTime != row?.version
        }
    }
}
