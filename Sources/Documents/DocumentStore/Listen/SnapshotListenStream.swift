import DocumentModel
import FirestoreProtocol
import SystemIO

/// One listen stream of a store. Performs the reads that its machine requests when its consumer
/// pulls.
actor SnapshotListenStream<Store: SnapshotStore>: ListenStream {
    /// A target whose documents are being reported.
    private struct Loading {
        enum Work {
            case query(QueryExecution)
            case documents([DocumentName])
        }

        let id: Int32
        let time: Timestamp
        var work: Work

        init(_ id: Int32, _ selection: ListenMachine.Selection, at time: Timestamp) {
            self.id = id
            self.time = time
            switch selection {
            case .query(let plan): work = .query(QueryExecution(plan: plan, readTime: time.microseconds))
            case .documents(let names): work = .documents(names)
            }
        }
    }

    /// The number of documents beyond which a difference is reported as a reset.
    private static var differenceLimit: Int { 10_000 }
    /// The number of changes to all documents beyond which a target with few documents is reset.
    private static var fewChanges: Int { 100 }
    private static var catchUpChunk: Int { 500 }

    nonisolated private let stream: UInt64
    nonisolated private let mailbox: ListenMailbox
    nonisolated private let store: Store
    nonisolated private let account: String?
    private var machine: ListenMachine
    private var loads: [Loading] = []
    /// Requests of the client that arrived before commits that must be reported first.
    private var postponed: [ListenMailbox.Item] = []
    private var catchUp: (after: Int64, through: Int64)?

    private var hub: ListenHub { store.hub }
    private var readers: Store.Readers { store.readers }

    init(store: Store, account: String?) {
        (stream, mailbox) = store.hub.open(mailboxLimit: store.listenerBacklog)
        self.store = store
        self.account = account
        machine = ListenMachine(epoch: store.epoch, start: Timestamp(microseconds: store.hub.separatingTime()))
    }

    deinit { store.hub.close(stream) }

    nonisolated func add(_ target: ListenTarget) async { await mailbox.post(.add(target)) }

    nonisolated func remove(_ targetID: Int32) async { await mailbox.post(.remove(targetID)) }

    nonisolated func cancel() { store.hub.close(stream) }

    func next() async throws -> [ListenEvent]? {
        while true {
            try Task.checkCancellation()
            let events: [ListenEvent]
            if catchUp != nil {
                events = try await readLog()
            } else if !loads.isEmpty {
                events = try await loadPage()
            } else if !postponed.isEmpty {
                events = try await handle(postponed.removeFirst())
            } else {
                let mailbox = mailbox
                let item = await withTaskCancellationHandler {
                    await mailbox.next()
                } onCancel: {
                    mailbox.close()
                }
                if case .closed = item { return nil }
                events = try await handle(item)
            }
            if !events.isEmpty { return events }
        }
    }

    private func handle(_ item: ListenMailbox.Item) async throws -> [ListenEvent] {
        switch item {
        case .add(let target):
            // In a task of its own, because a task keeps the memory of its largest frame: 11 KiB for a load.
            async let events = begin(target)
            return try await events
        case .remove(let id): return remove(target: id)
        case .commit(let record, let targets): return try await apply(record, candidates: targets)
        case .lagging:
            startCatchUp()
            return []
        case .idle:
            let time = hub.separatingTime()
            return mailbox.isEmpty ? machine.boundary(at: Timestamp(microseconds: time)) : []
        case .closed: return []
        }
    }

    private func remove(target id: Int32, cause: DocumentStoreError? = nil) -> [ListenEvent] {
        hub.unregister(id, of: stream)
        loads.removeAll { $0.id == id }
        return machine.remove(id, cause: cause)
    }

    // MARK: Adding a target

    private func begin(_ target: ListenTarget) async throws -> [ListenEvent] {
        let selection: ListenMachine.Selection
        let resumeTime: Resumption
        do {
            try ListenMachine.checkAdding(target, to: machine.targetIDs)
            selection = try ListenMachine.Selection(checking: target.selection, in: store.database)
            resumeTime = try resumption(target.resumption)
        } catch {
            return [.removed(targetID: target.id, cause: DocumentStoreError(error))]
        }
        try await store.catchUp()
        // The time is taken in the turn. A load reads all changes since its time, so if it had its time while
        // it waits, those behind it would wait longer, and have more to read.
        return try await hub.loads.run(for: account) { _ in
            try Task.checkCancellation()
            let (earlier, time) = try await register(target.id, selection)
            guard let time else {
                // The target waits for its turn again after the other ones have caught up.
                postponed.insert(.add(target), at: 0)
                return earlier
            }
            let events = earlier + machine.add(target.id, selection, once: target.once)
            return events
                + (try await startLoading(target, selection, resumeTime, at: Timestamp(microseconds: time)))
        }
    }

    /// Registers a target at a separating time, and reports what precedes that time.
    ///
    /// - Returns: The time. It is nil, and the target is not registered, if the stream lags behind: it may have to read
    ///   much of the log, which it does in parts, as its consumer pulls them.
    private func register(
        _ id: Int32, _ selection: ListenMachine.Selection
    ) async throws -> (events: [ListenEvent], time: Int64?) {
        let time = hub.register(id, of: stream, selection)
        var events: [ListenEvent] = []
        while let item = mailbox.take(if: { Self.isDue($0, before: time) }) {
            switch item {
            case .add, .remove: postponed.append(item)
            case .lagging:
                hub.unregister(id, of: stream)
                startCatchUp()
                return (events, nil)
            default: events += try await handle(item)
            }
        }
        return (events, time)
    }

    /// Whether an item precedes a target's loading time: requests of the client do, and commits up
    /// to it.
    private static func isDue(_ item: ListenMailbox.Item, before time: Int64) -> Bool {
        switch item {
        case .commit(let record, _): record.time.microseconds <= time
        case .add, .remove, .lagging: true
        case .idle, .closed: false
        }
    }

    private enum Resumption {
        case none
        case after(Timestamp)
        case impossible
    }

    private func resumption(_ wish: ListenTarget.Resumption?) throws(DocumentStoreError) -> Resumption {
        switch wish {
        case nil: return .none
        case .readTime(let time): return resumption(after: time)
        case .token(let token):
            guard !token.isEmpty else { return .none }
            switch ListenMachine.parse(token: token, epoch: store.epoch) {
            case .malformed: throw DocumentStoreError(.invalidArgument, "bad resume token")
            case .foreign: return .impossible
            case .time(let time): return resumption(after: time)
            }
        }
    }

    /// A client may have seen commits that a gap has lost, so its documents are not those of that time here.
    private func resumption(after time: Timestamp) -> Resumption {
        store.gap?.contains(time.microseconds) == true ? .impossible : .after(time)
    }

    private func startLoading(
        _ target: ListenTarget, _ selection: ListenMachine.Selection, _ resumption: Resumption, at time: Timestamp
    ) async throws -> [ListenEvent] {
        var events: [ListenEvent] = []
        switch resumption {
        case .none: break
        case .impossible: events.append(.reset(targetID: target.id))
        case .after(let start):
            if let difference = try await resume(target, selection, from: start, at: time) { return difference }
            events.append(.reset(targetID: target.id))
        }
        loads.append(Loading(target.id, selection, at: time))
        return events + (try await loadPage())
    }

    private func load(_ names: [DocumentName], into id: Int32, at time: Timestamp) async throws -> [ListenEvent] {
        let documents = try await readers.read(for: account, damage: .isSkipped) { snapshot, _ in
            snapshot.prefetch(names[...])
            return try names.map { name in
                try snapshot.unlessDamaged { try snapshot.document(name, at: time.microseconds) }
            }
        }
        var events: [ListenEvent] = []
        for (name, document) in zip(names, documents) {
            switch document {
            case .known(let document?): events += machine.load(id, [document])
            case .known(nil): events.append(.deleted(name, readTime: time, removedTargetIDs: [id]))
            case .damaged: break
            }
        }
        return events
    }

    private func loadPage() async throws -> [ListenEvent] {
        guard var loading = loads.first else { return [] }
        var events: [ListenEvent]
        switch loading.work {
        case .documents(let names):
            events = try await load(names, into: loading.id, at: loading.time)
        case .query(let execution):
            let (next, page) = try await readers.read(for: account, damage: .isSkipped) { snapshot, visible in
                try snapshot.checkHorizon(execution.readTime)
                var execution = execution
                let page = try execution.nextPage(in: snapshot, visible: visible)
                return (execution, page)
            }
            events = machine.load(loading.id, page.documents)
            guard page.isLast else {
                loading.work = .query(next)
                loads[0] = loading
                return events
            }
        }
        loads.removeFirst()
        events += finish(loading.id, at: loading.time)
        return events
    }

    private func finish(_ id: Int32, at time: Timestamp) -> [ListenEvent] {
        let events = machine.finishLoading(id, at: time)
        if machine.selection(of: id) == nil { hub.unregister(id, of: stream) }
        return events
    }

    // MARK: Resuming

    /// Returns what the client has missed; nil if the history does not reach back far enough, or if reading all
    /// documents costs less than finding those that have changed among all changes to the database.
    private func resume(
        _ target: ListenTarget, _ selection: ListenMachine.Selection, from start: Timestamp, at time: Timestamp
    ) async throws -> [ListenEvent]? {
        guard start <= time else { return nil }
        let id = target.id
        var events: [ListenEvent] = []
        // For a window, the number of documents that the client should have; otherwise `growth` is
        // the number of documents added since.
        var heldCount: Int?
        var growth = 0
        if case .query(let plan) = selection, selection.isWindow {
            let windows = try await readers.read(for: account, damage: .isSkipped) {
                snapshot, visible -> (old: [EncodedDocument], new: [EncodedDocument])? in
                guard try snapshot.horizon() <= start.microseconds else { return nil }
                return (
                    try QueryExecution.all(plan, at: start.microseconds, in: snapshot, visible: visible),
                    try QueryExecution.all(plan, at: time.microseconds, in: snapshot, visible: visible)
                )
            }
            guard let windows else { return nil }
            heldCount = windows.old.count
            machine.resumeWindow(id, windows.old)
            let gone = try await missing(windows.old.map(\.name), at: time)
            events += machine.updateWindow(id, windows.new, deleted: gone, at: time)
        } else {
            let difference = try await readers.read(for: account, damage: .isSkipped) { snapshot, _ in
                try Self.difference(of: selection, from: start.microseconds, to: time.microseconds, in: snapshot)
            }
            guard let difference else { return nil }
            growth = ListenMachine.growth(of: selection, by: difference)
            events += machine.loadDifference(id, difference)
        }
        if let expected = target.expectedCount {
            let documents = try await documents(of: selection, at: time)
            let isAsExpected = (heldCount ?? documents.count - growth) == Int(expected)
            events.append(
                .existenceFilter(
                    targetID: id, count: Int32(clamping: documents.count),
                    unchanged: isAsExpected ? nil : documents.filter { $0.updateTime <= start }.map(\.name)))
        }
        return events + finish(id, at: time)
    }

    /// Returns the changes to a target that is not a window; nil if it is to be reset.
    private static func difference(
        of selection: ListenMachine.Selection, from start: Int64, to time: Int64, in snapshot: any StoreSnapshot
    ) throws -> CommitRecord? {
        guard try snapshot.horizon() <= start else { return nil }
        let changes = try snapshot.changeCount(after: start, through: time, limit: snapshot.tuning.pageCount)
        let log = ChangeLog(snapshot: snapshot)
        switch selection {
        case .documents(let names) where names.count <= changes:
            return try log.difference(of: Set(names), in: selection, from: start, to: time)
        case .query(let plan) where changes > fewChanges:
            // To read a document and send it costs less than to read two versions of one that was changed.
            if try hasFewDocuments(plan, limit: changes, in: snapshot) { return nil }
        default: break
        }
        let names = try log.changedNames(
            from: start, to: time, limit: differenceLimit, isWanted: selection.isInScope)
        return try names.flatMap { try log.difference(of: $0, in: selection, from: start, to: time) }
    }

    /// Whether a reset of the query has to read at most `limit` documents, and one page of them. Reads no more than
    /// that to find out: a query with few results may have to read many documents.
    private static func hasFewDocuments(_ plan: QueryPlan, limit: Int, in snapshot: any StoreSnapshot) throws -> Bool {
        var (count, bytes) = (0, 0)
        func isFew() -> Bool { count <= limit && bytes <= snapshot.tuning.pageBytes }
        for scan in try QueryPlanner(plan: plan, snapshot: snapshot).accessPath().scans where isFew() {
            try ScanReader(snapshot: snapshot).read(scan, after: nil) { candidate in
                count += 1
                bytes += candidate.document.fields.bytes.count
                return isFew()
            }
        }
        return isFew()
    }

    private func missing(_ names: [DocumentName], at time: Timestamp) async throws -> Set<DocumentName> {
        try await readers.read(for: account, damage: .isSkipped) { snapshot, _ in
            Set(
                try names.filter { name in
                    let found = try snapshot.unlessDamaged { try snapshot.document(name, at: time.microseconds) }
                    return if case .known(nil) = found { true } else { false }
                })
        }
    }

    /// Returns the names and versions of a target's documents.
    private func documents(
        of selection: ListenMachine.Selection, at time: Timestamp
    ) async throws -> [(name: DocumentName, updateTime: Timestamp)] {
        try await readers.read(for: account, damage: .isSkipped) { snapshot, visible in
            switch selection {
            case .query(let plan):
                var execution = QueryExecution(plan: plan, readTime: time.microseconds)
                var found: [(DocumentName, Timestamp)] = []
                while true {
                    let page = try execution.nextPage(in: snapshot, visible: visible)
                    found += page.documents.map { ($0.name, $0.updateTime) }
                    if page.isLast { return found }
                }
            case .documents(let names):
                return try Set(names).compactMap { name in
                    try snapshot.document(name, at: time.microseconds).map { (name, $0.updateTime) }
                }
            }
        }
    }

    // MARK: Commits

    private func apply(_ record: CommitRecord, candidates: [[Int32]]) async throws -> [ListenEvent] {
        var (events, windows) = machine.commit(record, candidates: candidates)
        for id in windows {
            guard case .query(let plan)? = machine.selection(of: id) else { continue }
            let documents = try await readers.read(for: account, damage: .isSkipped) { snapshot, visible in
                try QueryExecution.all(plan, at: record.time.microseconds, in: snapshot, visible: visible)
            }
            let deleted = Set(record.changes.filter { $0.after == nil }.map(\.name))
            events += machine.updateWindow(id, documents, deleted: deleted, at: record.time)
        }
        return events.isEmpty ? [] : events + machine.boundary(at: record.time)
    }

    private func startCatchUp() {
        catchUp = (machine.toldThrough.microseconds, hub.endLag(of: mailbox))
    }

    /// Reports a part of the commits that the mailbox had to drop.
    private func readLog() async throws -> [ListenEvent] {
        guard let range = catchUp else { return [] }
        let ids = machine.targetIDs
        let selections = ids.compactMap { machine.selection(of: $0) }
        let part = try await readers.read(for: account, damage: .isSkipped) {
            snapshot, _ -> (records: [CommitRecord], through: Int64)? in
            guard try snapshot.horizon() <= range.after else { return nil }
            return try ChangeLog(snapshot: snapshot).commits(
                after: range.after, through: range.through, limit: Self.catchUpChunk
            ) { name in selections.contains { $0.isInScope(name) } }
        }
        guard let part else {
            catchUp = nil
            return reloadAll(at: Timestamp(microseconds: range.through))
        }
        catchUp = part.through < range.through ? (part.through, range.through) : nil
        var events: [ListenEvent] = []
        for record in part.records {
            events += try await apply(record, candidates: record.changes.map { _ in ids })
        }
        if catchUp == nil { events += machine.boundary(at: Timestamp(microseconds: range.through)) }
        return events
    }

    /// Reports everything again, because the log no longer reaches back to what was reported last.
    private func reloadAll(at time: Timestamp) -> [ListenEvent] {
        var events: [ListenEvent] = []
        loads = []
        for id in machine.targetIDs.sorted() {
            guard let selection = machine.selection(of: id) else { continue }
            events.append(.reset(targetID: id))
            machine.resumeWindow(id, [])
            loads.append(Loading(id, selection, at: time))
        }
        return events
    }
}
