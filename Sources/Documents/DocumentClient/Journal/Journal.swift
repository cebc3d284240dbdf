/// Decides what of the durable queue is sent when. A value: events in, jobs out; no clock, no I/O.
///
/// Order is kept within a document. Nothing blocks anything else: what the remote refuses is isolated by halving and then
/// parked, what keeps losing against other writers goes alone. One job is under way at a time; mutations appended meanwhile
/// wait for the next one.
struct Journal: Sendable {
    enum Job: Sendable, Hashable {
        /// Send these mutations (sequences) in one commit.
        case commit([Int64])
        /// Read the documents of these mutations, and tell what came of each.
        case read([Int64])

        var sequences: [Int64] {
            switch self {
            case .commit(let sequences), .read(let sequences): sequences
            }
        }
    }

    /// What the shell must do after a failure.
    enum Verdict: Sendable, Hashable {
        /// Ask `next` again, after a backoff if `wait` is set.
        case goOn(wait: Bool)
        /// Park these, then ask `next` again.
        case park([Int64])
        /// Ask `next` again when somebody has signed in.
        case signIn
    }

    /// After so many failed commits a mutation is sent without others.
    private static let failuresToGoAlone = 2

    var limits = CommitLimits()
    private(set) var entries: [Int64: JournalEntry] = [:]
    private(set) var parkedCount = 0
    /// The job that waits for its outcome.
    private(set) var current: Job?
    /// The sequences of each document, oldest first.
    private var byPath: [String: [Int64]] = [:]
    private var byGroup: [Int64: [Int64]] = [:]
    /// What may be sent, in order; entries that are gone or parked are skipped.
    private var queue: [Int64] = []
    private var head = 0
    /// Jobs that come before anything new: halves of refused commits, reads after failed preconditions. Last first.
    private var urgent: [Job] = []
    private var lastWentAlone = false

    var count: Int { entries.count }
    var isIdle: Bool { current == nil && urgent.isEmpty && entries.count == parkedCount }

    /// Whether nothing that was appended up to `position` is still to be sent.
    func isSettled(through position: Int64) -> Bool {
        !queue[head...].contains { entries[$0].map { $0.position <= position && !$0.isParked } ?? false }
    }

    // MARK: Contents

    mutating func append(_ entry: JournalEntry) {
        byPath[entry.path, default: []].append(entry.sequence)
        insert(entry)
    }

    /// Puts `new` in the place of `old` within its document.
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

    /// Takes what the file has instead; the job under way and those that wait stay.
    mutating func reload(_ entries: [JournalEntry]) {
        self.entries = [:]
        (byPath, byGroup, queue, head, parkedCount) = ([:], [:], [], 0, 0)
        for entry in entries { append(entry) }
    }

    /// Drops the plan, but no mutation: what was under way was meant for a remote that is gone.
    mutating func forgetJobs() {
        current = nil
        urgent = []
    }

    /// The mutations of a group; none of group 0, which is none.
    func members(of group: Int64) -> [Int64] { byGroup[group] ?? [] }

    func sequences(of path: String) -> [Int64] { byPath[path] ?? [] }

    /// The mutation that a new one of the same document may be joined with: its last, if the remote cannot know it.
    func joinable(_ path: String) -> Int64? {
        guard let last = byPath[path]?.last, let entry = entries[last], entry.isUnsent, entry.group == 0
        else { return nil }
        return last
    }

    /// Whether the document's base must stay as it is, because a commit made on it has no known outcome.
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

    /// The next job; nil while one is under way or when there is nothing to do.
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
            if failures >= Self.failuresToGoAlone {
                // What failed least goes first, so that one that fails for ever holds none of the others up.
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
        if let alone, chosen.isEmpty || !lastWentAlone {
            lastWentAlone = true
            return .commit(alone.unit)
        }
        lastWentAlone = false
        return chosen.isEmpty ? nil : .commit(chosen)
    }

    /// All mutations that go with this one; nil if it is parked, or one of them must wait for an older one of its document.
    private func unit(of entry: JournalEntry) -> [Int64]? {
        let members = entry.group == 0 ? [entry.sequence] : byGroup[entry.group] ?? []
        let areReady = members.allSatisfy { sequence in
            guard let member = entries[sequence], !member.isParked else { return false }
            return byPath[member.path]?.first == sequence
        }
        return areReady ? members : nil
    }

    /// The units of these mutations that can still be sent, each once.
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

    /// The commit under way took effect. Answers its mutations, which the shell removes.
    mutating func committed() -> [Int64] {
        defer { current = nil }
        return current?.sequences ?? []
    }

    /// The job under way had an outcome that could not be recorded: as if its answer had been lost.
    mutating func forgetOutcome(of job: Job?) {
        guard let job else { return }
        current = nil
        settle(job, isOpen: true)
    }

    /// The read under way was answered. Answers its mutations, each of which the shell removes, replaces or keeps.
    mutating func wasRead() -> [Int64] {
        defer { current = nil }
        return current?.sequences ?? []
    }

    /// The document was read, and the mutation stays as it is: the remote has nothing of it.
    ///
    /// - Parameters:
    ///   - isMoved: whether it has a new base, so that no earlier commit of it can take effect any more.
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

    /// Reads the documents of these before anything else.
    mutating func readNext(_ sequences: [Int64]) { urgent.append(.read(sequences)) }

    mutating func setNeedsRead(_ sequence: Int64, _ needsRead: Bool) { entries[sequence]?.needsRead = needsRead }

    /// The job under way failed.
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
            // Somebody writes the same document all the time, or the remote contradicts itself.
            return .goOn(wait: sequences.allSatisfy { (entries[$0]?.failures ?? 0) >= 6 })
        }
        let units = units(job.sequences)
        guard units.count > 1 else {
            guard case .commit = job, job.sequences.contains(where: { entries[$0]?.trace == .open }) else {
                return .park(job.sequences)
            }
            // Before it is given up, it must be clear that an earlier, cut-off commit did not do it.
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

    /// A commit did nothing because another client held one of its documents, which one is not known: each of its units is
    /// sent alone from now on. Waits where all that can be sent has failed as often.
    private mutating func contended(_ sequences: [Int64]) -> Verdict {
        var failures = 0
        for sequence in sequences {
            guard let entry = entries[sequence] else { continue }
            let count = max(entry.failures + 1, Self.failuresToGoAlone)
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

    /// A cut-off commit leaves its mutations open; a refused one tells that it did nothing, but not about those before it.
    private mutating func settle(_ job: Job, isOpen: Bool) {
        guard case .commit(let sequences) = job else { return }
        for sequence in sequences {
            entries[sequence]?.isUnderWay = false
            if isOpen { entries[sequence]?.trace = .open }
        }
    }

    /// Takes mutations out of the queue until they are retried or replaced. The remote has nothing of what it refuses, so that a
    /// newer edit of the same document may take the place of a parked one.
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
