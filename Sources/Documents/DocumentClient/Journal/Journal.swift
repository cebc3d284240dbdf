/// Decides which mutations of the durable queue are sent, and when. A value: events in, jobs out;
/// no clock, no I/O.
///
/// Mutations of one document are sent in order. Otherwise no mutation blocks another: a rejected
/// commit is bisected until the offending mutation is isolated, and a mutation that keeps
/// conflicting with other writers is sent alone. One job is in flight at a time; mutations appended
/// meanwhile wait for the next one.
struct Journal: Sendable {
    enum Job: Sendable, Hashable {
        /// Send these mutations (sequence numbers) in one commit.
        case commit([Int64])
        /// Read the documents of these mutations and report what became of each.
        case read([Int64])

        var sequences: [Int64] {
            switch self {
            case .commit(let sequences), .read(let sequences): sequences
            }
        }
    }

    /// The action required after a failure.
    enum Verdict: Sendable, Hashable {
        /// Call `next` again, after a backoff if `wait` is true.
        case goOn(wait: Bool)
        /// Mark these as rejected, then call `next` again.
        case park([Int64])
        /// Call `next` again after the user has signed in.
        case signIn
    }

    /// The number of failed commits after which a mutation is sent alone.
    private static let failuresUntilSentAlone = 2

    var limits = CommitLimits()
    private(set) var entries: [Int64: JournalEntry] = [:]
    private(set) var parkedCount = 0
    /// The job that is in flight.
    private(set) var current: Job?
    /// The sequence numbers of each document, oldest first.
    private var byPath: [String: [Int64]] = [:]
    private var byGroup: [Int64: [Int64]] = [:]
    /// The mutations that may be sent, in order. Removed and rejected ones are skipped.
    private var queue: [Int64] = []
    private var head = 0
    /// Jobs that precede anything new: halves of refused commits, and reads after failed
    /// preconditions. The next job is the last one.
    private var urgent: [Job] = []
    private var lastWasSentAlone = false

    var count: Int { entries.count }
    var isIdle: Bool { current == nil && urgent.isEmpty && entries.count == parkedCount }

    /// Whether everything that was appended up to `position` was sent or rejected.
    func isSettled(through position: Int64) -> Bool {
        !queue[head...].contains { entries[$0].map { $0.position <= position && !$0.isParked } ?? false }
    }

    // MARK: Contents

    mutating func append(_ entry: JournalEntry) {
        byPath[entry.path, default: []].append(entry.sequence)
        insert(entry)
    }

    /// Replaces a mutation by a new one at the same position within its document.
    mutating func replace(_ old: Int64, with new: JournalEntry) {
        drop(old)
        if let index = byPath[new.path]?.firstIndex(of: old) {
            byPath[new.path]?[index] = new.sequence
        } else {
            byPath[new.path, default: []].append(new.sequence)
        }
        insert(new)
    }

    mutating func remove(_ sequence: Int64) {
        guard let entry = drop(sequence) else { return }
        byPath[entry.path]?.removeAll { $0 == sequence }
        if byPath[entry.path]?.isEmpty == true { byPath[entry.path] = nil }
    }

    /// Replaces the entries by those of the file. The job in flight and the urgent jobs are kept.
    mutating func reload(_ entries: [JournalEntry]) {
        self.entries = [:]
        (byPath, byGroup, queue, head, parkedCount) = ([:], [:], [], 0, 0)
        for entry in entries { append(entry) }
    }

    /// Discards the jobs, but no mutation, because they were meant for a remote that has been
    /// replaced.
    mutating func forgetJobs() {
        current = nil
        urgent = []
    }

    /// Returns the mutations of a group; an empty array for 0, which means no group.
    func members(of group: Int64) -> [Int64] { byGroup[group] ?? [] }

    func sequences(of path: String) -> [Int64] { byPath[path] ?? [] }

    /// The documents that have mutations.
    var paths: some Collection<String> { byPath.keys }

    /// Returns the mutation with which a new one of the same document may be combined: the last
    /// one, if it cannot have reached the remote.
    func joinable(_ path: String) -> Int64? {
        guard let last = byPath[path]?.last, let entry = entries[last], entry.isUnsent, entry.group == 0
        else { return nil }
        return last
    }

    /// Whether the document's base must not change, because the outcome of a commit based on it is
    /// unknown.
    func isPinned(_ path: String) -> Bool {
        sequences(of: path).contains { sequence in
            guard let entry = entries[sequence] else { return false }
            return !entry.isParked && !entry.isUnsent
        }
    }

    private mutating func insert(_ entry: JournalEntry) {
        entries[entry.sequence] = entry
        if entry.group != 0 { byGroup[entry.group, default: []].append(entry.sequence) }
        if entry.isParked { parkedCount += 1 } else { queue.append(entry.sequence) }
    }

    @discardableResult private mutating func drop(_ sequence: Int64) -> JournalEntry? {
        guard let entry = entries.removeValue(forKey: sequence) else { return nil }
        if entry.isParked { parkedCount -= 1 }
        if entry.group != 0 {
            byGroup[entry.group]?.removeAll { $0 == sequence }
            if byGroup[entry.group]?.isEmpty == true { byGroup[entry.group] = nil }
        }
        return entry
    }

    private mutating func skipGone() {
        while head < queue.count, entries[queue[head]]?.isParked ?? true { head += 1 }
        if head > 1024, head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
    }

    // MARK: Jobs

    /// Returns the next job; nil while one is in flight and when there is nothing to do.
    mutating func next() -> Job? {
        guard current == nil else { return nil }
        while current == nil, let job = urgent.popLast() {
            let left = units(job.sequences).flatMap { $0 }
            if left.isEmpty { continue }
            switch job {
            case .read: current = .read(left)
            case .commit: current = .commit(left)
            }
        }
        if current == nil { current = compose() }
        if case .commit(let sequences)? = current {
            for sequence in sequences { entries[sequence]?.isUnderWay = true }
        }
        return current
    }

    private mutating func compose() -> Job? {
        skipGone()
        var reads: [Int64] = []
        var chosen: [Int64] = []
        var seen: Set<Int64> = []
        var writes = 0
        var bytes = 0
        var alone: (unit: [Int64], failures: Int)?
        for sequence in queue[head...] {
            guard let entry = entries[sequence], !seen.contains(sequence), let unit = unit(of: entry) else { continue }
            let members = unit.compactMap { entries[$0] }
            seen.formUnion(unit)
            if members.contains(where: \.needsRead) {
                reads += unit
                if reads.count >= limits.writes { break }
                continue
            }
            let failures = members.map(\.failures).max() ?? 0
            if failures >= Self.failuresUntilSentAlone {
                // The unit with the fewest failures is sent first, so that one that always fails
                // does not delay the others.
                if failures < alone?.failures ?? .max { alone = (unit, failures) }
                continue
            }
            let unitWrites = members.reduce(0) { $0 + $1.writeCount }
            let unitBytes = members.reduce(0) { $0 + $1.bytes }
            if !chosen.isEmpty, writes + unitWrites > limits.writes || bytes + unitBytes > limits.bytes { break }
            chosen += unit
            writes += unitWrites
            bytes += unitBytes
        }
        if !reads.isEmpty { return .read(reads) }
        if let alone, chosen.isEmpty || !lastWasSentAlone {
            lastWasSentAlone = true
            return .commit(alone.unit)
        }
        lastWasSentAlone = false
        return chosen.isEmpty ? nil : .commit(chosen)
    }

    /// Returns all mutations of the unit of this one; nil if one of them is rejected or must wait
    /// for an older one of its document.
    private func unit(of entry: JournalEntry) -> [Int64]? {
        let members = entry.group == 0 ? [entry.sequence] : byGroup[entry.group] ?? []
        let areReady = members.allSatisfy { sequence in
            guard let member = entries[sequence], !member.isParked else { return false }
            return byPath[member.path]?.first == sequence
        }
        return areReady ? members : nil
    }

    /// Returns the units of these mutations that can still be sent, each once.
    private func units(_ sequences: [Int64]) -> [[Int64]] {
        var seen: Set<Int64> = []
        return sequences.compactMap { sequence in
            guard !seen.contains(sequence), let entry = entries[sequence], let unit = unit(of: entry) else {
                return nil
            }
            seen.formUnion(unit)
            return unit
        }
    }

    // MARK: Outcomes

    /// Reports that the commit in flight took effect. Returns its mutations, which the caller
    /// removes.
    mutating func committed() -> [Int64] {
        defer { current = nil }
        return current?.sequences ?? []
    }

    /// Reports that the outcome of the job in flight could not be recorded, as if the response had
    /// been lost.
    mutating func forgetOutcome(of job: Job?) {
        guard let job else { return }
        current = nil
        settle(job, isOpen: true)
    }

    /// Reports that the read in flight succeeded. Returns its mutations, each of which the caller
    /// removes, replaces or keeps.
    mutating func wasRead() -> [Int64] {
        defer { current = nil }
        return current?.sequences ?? []
    }

    /// Keeps a mutation unchanged after its document was read and the remote was found not to have
    /// it.
    ///
    /// - Parameters:
    ///   - isMoved: whether it has a new base, so that no earlier commit of it can take effect any
    ///     more.
    ///   - failed: whether a commit failed because of this document.
    mutating func keep(_ sequence: Int64, isMoved: Bool, failed: Bool) {
        if isMoved {
            entries[sequence]?.trace = .none
        } else if entries[sequence]?.trace == .open {
            entries[sequence]?.trace = .late
        }
        entries[sequence]?.needsRead = false
        if failed { entries[sequence]?.failures += 1 }
    }

    /// Reads the documents of these mutations before anything else.
    mutating func readNext(_ sequences: [Int64]) { urgent.append(.read(sequences)) }

    mutating func setNeedsRead(_ sequence: Int64, _ needsRead: Bool) { entries[sequence]?.needsRead = needsRead }

    /// Handles a failure of the job in flight.
    mutating func failed(_ code: RemoteError.Code) -> Verdict {
        guard let job = current else { return .goOn(wait: false) }
        current = nil
        settle(job, isOpen: code.isTransient && code != .contention)
        if case .commit(let sequences) = job, code == .contention { return contended(sequences) }
        if code.isTransient || code == .unauthenticated {
            urgent.append(job)
            return code.isTransient ? .goOn(wait: true) : .signIn
        }
        if case .read = job, code == .notFound || code == .precondition {
            urgent.append(job)
            return .goOn(wait: true)
        }
        if case .commit(let sequences) = job, code == .notFound || code == .precondition {
            urgent.append(.read(sequences))
            // Either another client keeps writing the same document, or the remote contradicts
            // itself.
            return .goOn(wait: sequences.allSatisfy { (entries[$0]?.failures ?? 0) >= 6 })
        }
        let units = units(job.sequences)
        guard units.count > 1 else {
            guard case .commit = job, job.sequences.contains(where: { entries[$0]?.trace == .open }) else {
                return .park(job.sequences)
            }
            // Before the mutations are marked as rejected, it must be certain that an earlier,
            // interrupted commit did not apply them.
            urgent.append(.read(job.sequences))
            return .goOn(wait: false)
        }
        let middle = units.count / 2
        for half in [units[middle...], units[..<middle]] {
            let sequences = half.flatMap { $0 }
            switch job {
            case .commit: urgent.append(.commit(sequences))
            case .read: urgent.append(.read(sequences))
            }
        }
        return .goOn(wait: false)
    }

    /// Handles a commit that did nothing because another client held one of its documents. It is
    /// not known which one, so each unit is sent alone from now on. Waits if everything that can be
    /// sent has failed as often.
    private mutating func contended(_ sequences: [Int64]) -> Verdict {
        var failures = 0
        for sequence in sequences {
            guard let entry = entries[sequence] else { continue }
            let count = max(entry.failures + 1, Self.failuresUntilSentAlone)
            entries[sequence]?.failures = count
            failures = max(failures, count)
        }
        guard units(sequences).count == 1 else { return .goOn(wait: false) }
        let hasOther = queue[head...].contains { sequence in
            guard let entry = entries[sequence], let unit = unit(of: entry) else { return false }
            return unit.allSatisfy { entries[$0]?.failures ?? 0 < failures }
        }
        return .goOn(wait: !hasOther)
    }

    /// Ends a job. An interrupted commit leaves the outcome of its mutations open. A refused one is
    /// known to have done nothing, but says nothing about earlier commits.
    private mutating func settle(_ job: Job, isOpen: Bool) {
        guard case .commit(let sequences) = job else { return }
        for sequence in sequences {
            entries[sequence]?.isUnderWay = false
            if isOpen { entries[sequence]?.trace = .open }
        }
    }

    /// Excludes mutations from the queue until they are retried or replaced. The remote has nothing
    /// of a mutation that it rejected, so a newer edit of the same document may replace it.
    mutating func park(_ sequences: [Int64]) {
        for sequence in sequences where entries[sequence]?.isParked == false {
            entries[sequence]?.isParked = true
            entries[sequence]?.trace = .none
            parkedCount += 1
        }
    }

    mutating func retry(_ sequence: Int64) {
        guard entries[sequence]?.isParked == true else { return }
        entries[sequence]?.isParked = false
        entries[sequence]?.failures = 0
        parkedCount -= 1
        queue.append(sequence)
    }
}
