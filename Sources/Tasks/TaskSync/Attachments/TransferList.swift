/// The transfers of this machine, and which of them goes next. A value: it starts and stops nothing itself.
///
/// Small ones go first and many at a time, because what they wait for is the network's and the
/// disks' answers; large ones a few at a time, because each keeps the processors busy.
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

    /// Transfers that run at once whatever their sizes; each can use all processors.
    static let largeLimit = 2
    /// Transfers that run at once while their files together have no more than `smallBytes`.
    static let smallLimit = 64
    static let smallBytes: Int64 = 16 << 20
    /// Of what is over and known to be, so many are kept.
    static let overLimit = 200
    /// So many of what is over are kept until somebody knows.
    static let untoldLimit = 10_000

    private struct Turn {
        let size: Int64
        let number: Int
        let id: String

        static func < (left: Self, right: Self) -> Bool { (left.size, left.number) < (right.size, right.number) }
    }

    private(set) var transfers: [String: Transfer] = [:]
    /// Those that are not over, by task.
    private var current: [String: [Subject: String]] = [:]
    /// A heap; entries of transfers that wait no longer, or have another size by now, are skipped.
    private var waiting: [Turn] = []
    private var over: [String] = []
    private var added = 0
    private var movingCount = 0
    private var movingBytes: Int64 = 0

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
    var isAtRest: Bool { movingCount == 0 && !waiting.contains { transfers[$0.id]?.phase == .queued } }

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
    mutating func next() -> Transfer? {
        while let first = waiting.first {
            guard let transfer = transfers[first.id], transfer.phase == .queued, transfer.size == first.size else {
                removeFirst()
                continue
            }
            let isFree =
                movingCount < Self.largeLimit
                || movingCount < Self.smallLimit && movingBytes + transfer.weight <= Self.smallBytes
            guard isFree else { return nil }
            removeFirst()
            return transfer
        }
        return nil
    }

    private mutating func account(from old: Transfer, to new: Transfer) {
        if old.isMoving { (movingCount, movingBytes) = (movingCount - 1, movingBytes - old.weight) }
        if new.isMoving { (movingCount, movingBytes) = (movingCount + 1, movingBytes + new.weight) }
        if new.phase == .queued, old.phase != .queued || old.size != new.size {
            insert(Turn(size: new.size, number: new.number, id: new.id))
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

    // MARK: Heap

    private mutating func insert(_ turn: Turn) {
        waiting.append(turn)
        var child = waiting.count - 1
        while child > 0, case let parent = (child - 1) / 2, waiting[child] < waiting[parent] {
            waiting.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func removeFirst() {
        guard let last = waiting.popLast(), !waiting.isEmpty else { return }
        waiting[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < waiting.count && waiting[child] < waiting[least]
            {
                least = child
            }
            guard least != parent else { return }
            waiting.swapAt(least, parent)
            parent = least
        }
    }
}

extension Transfer {
    /// Whether it takes part in the traffic, and so in what may run at once.
    fileprivate var isMoving: Bool { phase == .running && !isStored }

    /// What the transfer counts among those that run at once: its size, as far as that matters. The
    /// size may be any number, and the sum of these of all transfers that there can be fits.
    fileprivate var weight: Int64 { max(0, min(size, TransferList.smallBytes + 1)) }

    fileprivate var subject: TransferList.Subject {
        isUpload ? .init(upload: name, of: task) : .init(download: attachment ?? "", of: task)
    }
}
