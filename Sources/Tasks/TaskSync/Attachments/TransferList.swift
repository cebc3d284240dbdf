import ObjectStorage

/// The transfers of this machine, also the last ones that are over, by id and by what they are about. A
/// value: it starts and stops nothing. `TransferSchedule` decides which of them starts next.
struct TransferList: Sendable {
    /// What a transfer is about. Names are bytes: two that differ only in their Unicode form are two files.
    struct Subject: Hashable, Sendable {
        let task: String
        let isUpload: Bool
        /// The file's name for an upload, the attachment's id for a download.
        let name: [UInt8]

        init(upload name: String, of task: String) { (self.task, isUpload, self.name) = (task, true, Array(name.utf8)) }

        init(download attachment: String, of task: String) {
            (self.task, isUpload, name) = (task, false, Array(attachment.utf8))
        }
    }

    /// Small files go first, and up to 64 at a time, because each of them waits for the answers of the
    /// network and of disks; large ones two at a time, because each can use all processors.
    static let policy = {
        var policy = TransferPolicy()
        policy.order = .smallestFirst
        (policy.simultaneous, policy.smallSimultaneous, policy.smallBytes) = (2, 64, 16 << 20)
        return policy
    }()
    /// Of what is over and known to be, so many are kept.
    static let overLimit = 200
    /// So many of what is over are kept until somebody knows.
    static let untoldLimit = 10_000

    private(set) var transfers: [String: Transfer] = [:]
    /// Those that are not over, by task.
    private var current: [String: [Subject: String]] = [:]
    private var turns = TransferSchedule<String>(policy: Self.policy)
    private var over: [String] = []
    private var added = 0

    /// In the order in which they came.
    var all: [Transfer] { transfers.values.sorted { $0.number < $1.number } }

    subscript(_ id: String) -> Transfer? { transfers[id] }

    /// The one about `subject` that is not over.
    func current(_ subject: Subject) -> Transfer? { current[subject.task]?[subject].flatMap { transfers[$0] } }

    /// Those of a task that are not over.
    func current(of task: String) -> [Transfer] { current[task, default: [:]].values.compactMap { transfers[$0] } }

    /// Whether there is one that is not over about what `transfer` is about.
    func hasCurrent(like transfer: Transfer) -> Bool { current(transfer.subject) != nil }

    /// Whether nothing moves, and nothing waits for its turn to.
    var isAtRest: Bool { turns.isEmpty }

    /// Whether nothing moves or will soon: what is left is paused or needs help.
    var isSettled: Bool {
        current.values.allSatisfy { subjects in
            subjects.values.allSatisfy { transfers[$0].map { $0.phase == .paused || $0.needsHelp } ?? false }
        }
    }

    mutating func add(_ transfer: Transfer) {
        var transfer = transfer
        added += 1
        transfer.number = added
        let blank = Transfer(
            id: transfer.id, task: transfer.task, attachment: transfer.attachment, name: transfer.name,
            isUpload: transfer.isUpload, phase: .cancelled, size: transfer.size)
        transfers[transfer.id] = transfer
        account(from: blank, to: transfer)
    }

    /// Changes a transfer; does nothing where there is none of this id.
    mutating func change(_ id: String, _ change: (inout Transfer) -> Void) {
        guard let old = transfers[id] else { return }
        var new = old
        change(&new)
        transfers[id] = new
        account(from: old, to: new)
    }

    /// The transfer that may start now, the smallest first; nil where none waits or enough run. The
    /// caller starts it, or ends it.
    mutating func next() -> Transfer? { turns.next().flatMap { transfers[$0] } }

    private mutating func account(from old: Transfer, to new: Transfer) {
        switch new.phase {
        case .queued: turns.enqueue(new.id, size: new.size, number: new.number)
        // One whose bytes are in place makes room for others.
        case .running where !new.isStored: turns.start(new.id, size: new.size)
        default: turns.remove(new.id)
        }
        if new.phase.isOver, !old.phase.isOver {
            if current[new.task]?[new.subject] == new.id {
                current[new.task]?[new.subject] = nil
                if current[new.task]?.isEmpty == true { current[new.task] = nil }
            }
            over.append(new.id)
            if over.count > Self.untoldLimit { forgetOver() }
        } else if !new.phase.isOver, old.phase.isOver {
            current[new.task, default: [:]][new.subject] = new.id
        }
    }

    /// Forgets what is over, but for the last few, and for what failed: a command may try that again.
    mutating func forgetOver() {
        guard over.count > Self.overLimit else { return }
        let last = Set(over.suffix(Self.overLimit))
        var failed: [String] = []
        for id in over.dropLast(Self.overLimit) where !last.contains(id) {
            guard let transfer = transfers[id], transfer.phase.isOver else { continue }
            if transfer.phase.hasFailed { failed.append(id) } else { transfers[id] = nil }
        }
        for id in failed.dropLast(Self.untoldLimit / 2) { transfers[id] = nil }
        over = failed.suffix(Self.untoldLimit / 2) + over.suffix(Self.overLimit)
    }
}

extension Transfer {
    fileprivate var subject: TransferList.Subject {
        isUpload ? .init(upload: name, of: task) : .init(download: attachment ?? "", of: task)
    }
}
