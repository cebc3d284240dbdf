import ObjectStorage
import TaskModel

/// The transfers of this machine, including the last ones that have ended, by id and by subject. A
/// value: it starts and stops nothing. `TransferSchedule` decides which of them starts next.
struct TransferList: Sendable {
    /// The file or attachment that a transfer is about. Names are compared by bytes: two that
    /// differ only in their Unicode form are two files.
    struct Subject: Hashable, Sendable {
        let task: TaskID
        let isUpload: Bool
        /// The file's name for an upload, the attachment's id for a download.
        let name: [UInt8]

        init(upload name: String, of task: TaskID) { (self.task, isUpload, self.name) = (task, true, Array(name.utf8)) }

        init(download attachment: AttachmentID, of task: TaskID) {
            (self.task, isUpload, name) = (task, false, Array(attachment.rawValue.utf8))
        }
    }

    /// Small files go first, up to 64 at a time, because each of them waits for the answers of the
    /// network and of disks; large ones two at a time, because each can use all processors.
    static let policy = {
        var policy = TransferPolicy()
        policy.order = .smallestFirst
        (policy.simultaneous, policy.smallSimultaneous, policy.smallBytes) = (2, 64, 16 << 20)
        return policy
    }()
    /// The number of reported ended transfers that are kept.
    static let overLimit = 200
    /// The number of ended transfers that are kept before they were reported.
    static let untoldLimit = 10_000

    private(set) var transfers: [String: Transfer] = [:]
    /// The ids of the transfers that have not ended, by task and subject.
    private var current: [TaskID: [Subject: String]] = [:]
    private var turns = TransferSchedule<String>(policy: Self.policy)
    private var over: [String] = []
    private var added = 0

    /// All transfers in the order of creation.
    var all: [Transfer] { transfers.values.sorted { $0.number < $1.number } }

    subscript(_ id: String) -> Transfer? { transfers[id] }

    /// Returns the transfer of a subject that has not ended.
    func current(_ subject: Subject) -> Transfer? { current[subject.task]?[subject].flatMap { transfers[$0] } }

    /// Returns the transfers of a task that have not ended.
    func current(of task: TaskID) -> [Transfer] { current[task, default: [:]].values.compactMap { transfers[$0] } }

    /// Whether a transfer with the same subject as `transfer` has not ended.
    func hasCurrent(like transfer: Transfer) -> Bool { current(transfer.subject) != nil }

    /// Whether no transfer runs or waits for its turn.
    var isAtRest: Bool { turns.isEmpty }

    /// Whether no transfer runs or will run soon: those that are left are paused or need help.
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

    /// Changes a transfer. Does nothing if there is none with this id.
    mutating func change(_ id: String, _ change: (inout Transfer) -> Void) {
        guard let old = transfers[id] else { return }
        var new = old
        change(&new)
        transfers[id] = new
        account(from: old, to: new)
    }

    /// Returns the transfer that may start now, the smallest first; nil if none waits or enough
    /// run. The caller must start or end it.
    mutating func next() -> Transfer? { turns.next().flatMap { transfers[$0] } }

    private mutating func account(from old: Transfer, to new: Transfer) {
        switch new.phase {
        case .queued: turns.enqueue(new.id, size: new.size, number: new.number)
        // A transfer whose bytes are in place makes room for others.
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

    /// Forgets ended transfers except the last ones and those that failed, which a command may try
    /// again.
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
