import DocumentModel
import FirestoreProtocol

/// Decides which events a listen stream sends to its client. A pure value: commits and read results
/// are the input, events the output.
///
/// The life of a target: `add`, its documents, `finishLoading`, then commits in order, each
/// followed by a boundary.
struct ListenMachine {
    enum Selection: Sendable {
        case query(QueryPlan)
        case documents([DocumentName])

        /// Whether the documents are a window of an ordered result, so that a change can move other
        /// documents in or out.
        var isWindow: Bool {
            guard case .query(let plan) = self else { return false }
            return plan.query.limit != nil || plan.query.offset > 0
        }
    }

    private struct Target {
        let selection: Selection
        let once: Bool
        /// The documents of a window with their versions; empty for other targets.
        var window: [DocumentName: Timestamp] = [:]
    }

    private let epoch: [UInt8]
    private var targets: [Int32: Target] = [:]
    /// The time up to which everything has been reported.
    private(set) var toldThrough: Timestamp

    init(epoch: [UInt8], start: Timestamp) {
        self.epoch = epoch
        toldThrough = start
    }

    var targetIDs: [Int32] { Array(targets.keys) }

    func selection(of id: Int32) -> Selection? { targets[id]?.selection }

    // MARK: Targets

    mutating func add(_ id: Int32, _ selection: Selection, once: Bool) -> [ListenEvent] {
        targets[id] = Target(selection: selection, once: once)
        return [.added(targetID: id)]
    }

    mutating func remove(_ id: Int32, cause: DocumentStoreError? = nil) -> [ListenEvent] {
        targets.removeValue(forKey: id) == nil ? [] : [.removed(targetID: id, cause: cause)]
    }

    /// Reports some of the documents that a target has at its loading time.
    mutating func load(_ id: Int32, _ documents: [EncodedDocument]) -> [ListenEvent] {
        if targets[id]?.selection.isWindow == true {
            for document in documents { targets[id]?.window[document.name] = document.updateTime }
        }
        return documents.map { .changed($0, targetIDs: [id], removedTargetIDs: []) }
    }

    /// Reports what changed for a resumed target between its token's time and its loading time.
    func loadDifference(_ id: Int32, _ record: CommitRecord) -> [ListenEvent] {
        record.changes.flatMap { events(for: $0, targets: [id], at: record.time) }
    }

    /// Returns the number of documents by which a target grew.
    static func growth(of selection: Selection, by record: CommitRecord) -> Int {
        record.changes.reduce(0) { growth, change in
            let (was, isNow) = membership(of: change, in: selection)
            return growth + (isNow ? 1 : 0) - (was ? 1 : 0)
        }
    }

    /// Sets the window that the resuming client knows, before `updateWindow` reports the
    /// difference.
    mutating func resumeWindow(_ id: Int32, _ documents: [EncodedDocument]) {
        targets[id]?.window = Dictionary(documents.map { ($0.name, $0.updateTime) }) { first, _ in first }
    }

    /// Reports that all documents of the target as of `time` have been reported.
    mutating func finishLoading(_ id: Int32, at time: Timestamp) -> [ListenEvent] {
        var events: [ListenEvent] = [.current(targetID: id, readTime: time, token: token(time))]
        events += boundary(at: time)
        if targets[id]?.once == true { events += remove(id) }
        return events
    }

    // MARK: Commits

    /// Returns the events of a commit for targets that are not windows, and the windows that must
    /// be read again as of its time.
    ///
    /// - Parameter candidates: for each change, the targets that it may concern.
    func commit(_ record: CommitRecord, candidates: [[Int32]]) -> (events: [ListenEvent], windows: [Int32]) {
        var events: [ListenEvent] = []
        var windows = Set<Int32>()
        for (change, ids) in zip(record.changes, candidates) {
            events += self.events(for: change, targets: ids, at: record.time)
            for id in ids where !windows.contains(id) {
                guard let selection = targets[id]?.selection, selection.isWindow else { continue }
                let (was, isNow) = Self.membership(of: change, in: selection)
                if was || isNow { windows.insert(id) }
            }
        }
        return (events, windows.sorted())
    }

    /// Returns the events for a window's new content.
    ///
    /// - Parameter deleted: the documents that no longer exist.
    mutating func updateWindow(
        _ id: Int32, _ documents: [EncodedDocument], deleted: Set<DocumentName>, at time: Timestamp
    ) -> [ListenEvent] {
        guard let old = targets[id]?.window else { return [] }
        let new = Dictionary(documents.map { ($0.name, $0.updateTime) }) { first, _ in first }
        targets[id]?.window = new
        var events: [ListenEvent] = []
        for name in old.keys.filter({ new[$0] == nil }).sorted() {
            events.append(
                deleted.contains(name)
                    ? .deleted(name, readTime: time, removedTargetIDs: [id])
                    : .left(name, readTime: time, removedTargetIDs: [id]))
        }
        for document in documents where old[document.name] != document.updateTime {
            events.append(.changed(document, targetIDs: [id], removedTargetIDs: []))
        }
        return events
    }

    /// Ends a commit, or reports the time to an idle client.
    mutating func boundary(at time: Timestamp) -> [ListenEvent] {
        toldThrough = max(toldThrough, time)
        return [.boundary(readTime: toldThrough, token: token(toldThrough))]
    }

    // MARK: Parts

    private func events(for change: CommitRecord.Change, targets ids: [Int32], at time: Timestamp) -> [ListenEvent] {
        var present: [Int32] = []
        var removed: [Int32] = []
        for id in ids {
            guard let selection = targets[id]?.selection, !selection.isWindow else { continue }
            let (was, isNow) = Self.membership(of: change, in: selection)
            if isNow { present.append(id) } else if was { removed.append(id) }
        }
        guard !present.isEmpty || !removed.isEmpty else { return [] }
        guard let document = change.encoded else {
            return [.deleted(change.name, readTime: time, removedTargetIDs: removed.sorted())]
        }
        return [
            .changed(projected(document, for: present), targetIDs: present.sorted(), removedTargetIDs: removed.sorted())
        ]
    }

    /// Applies the projection only if a single target has the document. Listeners of official
    /// clients have no projection.
    private func projected(_ document: EncodedDocument, for ids: [Int32]) -> EncodedDocument {
        guard ids.count == 1, let id = ids.first, case .query(let plan)? = targets[id]?.selection,
            plan.query.projection != nil, let decoded = try? Document(document)
        else { return document }
        return EncodedDocument(plan.project(decoded))
    }

    private static func membership(of change: CommitRecord.Change, in selection: Selection) -> (was: Bool, isNow: Bool)
    {
        switch selection {
        case .query(let plan):
            (change.before.map(plan.matches) ?? false, change.after.map(plan.matches) ?? false)
        case .documents(let names):
            names.contains(change.name) ? (change.before != nil, change.after != nil) : (false, false)
        }
    }

    // MARK: Tokens

    /// Returns a resume token: a kind, the database's epoch, and the time.
    private func token(_ time: Timestamp) -> [UInt8] { Self.token(time, epoch: epoch) }

    static func token(_ time: Timestamp, epoch: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [1] + epoch
        let word = UInt64(bitPattern: time.microseconds)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
        }
        return bytes
    }

    enum TokenContent: Equatable {
        case time(Timestamp)
        /// A token of another history: the database was restored or replaced.
        case foreign
        case malformed
    }

    static func time(of token: [UInt8], epoch: [UInt8]) -> Timestamp? {
        if case .time(let time) = parse(token: token, epoch: epoch) { time } else { nil }
    }

    static func parse(token: [UInt8], epoch: [UInt8]) -> TokenContent {
        guard token.count == 1 + epoch.count + 8, token.first == 1 else { return .malformed }
        guard token[1...].starts(with: epoch) else { return .foreign }
        let word = token.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return .time(Timestamp(microseconds: Int64(bitPattern: word)))
    }
}
