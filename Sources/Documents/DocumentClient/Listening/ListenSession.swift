import DocumentModel

/// Follows a series of listen streams for a set of targets. A value: events in, actions out; no
/// clock, no I/O.
///
/// Messages of the remote are collected up to a boundary and passed on together. A target that the
/// remote cannot resume is requested again without a token. A target that it refuses is requested
/// again a minute later, because permission for it may be granted later. After a stream ends,
/// targets resume from the last boundary that was passed on.
struct ListenSession: Sendable {
    enum Action: Sendable {
        case open([RemoteTarget])
        case add(RemoteTarget)
        case remove(Int32)
        case close
        case apply(Boundary)
        /// The target is refused until `currentTargets` contains it.
        case refused(Int32, RemoteError)
        /// The set of targets that are consistent with the remote as of a recent time.
        case currentTargets(Set<Int32>)
        /// Call `open` again after a delay.
        case wait(overloaded: Bool)
        /// Call `open` again after the user has signed in.
        case signIn
    }

    private struct Target {
        enum Phase {
            case closed
            /// Requested. Its messages are ignored until the remote confirms it.
            case adding
            case active
            /// Cancelled. Its messages are ignored. If `again`, it is requested again as soon as
            /// the removal is confirmed.
            case removing(again: Bool)
            /// Refused since a read time of the remote; nil stands for the next one.
            case refused(since: Timestamp?)
            /// Requested again. Refused until the remote responds.
            case requestedAgain

            var isRefused: Bool {
                switch self {
                case .refused, .requestedAgain: true
                case .closed, .adding, .active, .removing: false
                }
            }
        }

        var query: Query
        var token: [UInt8]
        var phase = Phase.closed
        var isCurrent = false
        /// Whether a boundary's token covers all documents of this target.
        var isResumable: Bool { isCurrent || !token.isEmpty }
    }

    private var targets: [Int32: Target] = [:]
    /// Targets that were removed on the present stream, which the remote has not confirmed.
    private var leaving: Set<Int32> = []
    private var isOpen = false
    private var items: [Boundary.Item] = []
    /// The read time of the newest boundary that was passed on. Idle boundaries are passed on only
    /// occasionally.
    private var handedOn = Timestamp.distantPast
    private(set) var isHealthy = false

    /// The read time in microseconds after which an idle boundary is passed on, so that its token
    /// is stored.
    static let idleMicroseconds: Int64 = 300_000_000
    /// The read time in microseconds after which a refused target is requested again.
    static let refusalMicroseconds: Int64 = 60_000_000

    var isWanted: Bool { !targets.isEmpty }

    func query(of target: Int32) -> Query? { targets[target]?.query }

    /// Lets every target start from the beginning with the next stream.
    mutating func forgetTokens() {
        for id in targets.keys { targets[id]?.token = [] }
        items = []
        handedOn = .distantPast
    }

    // MARK: Targets

    mutating func add(_ target: RemoteTarget) -> [Action] {
        guard targets[target.id] == nil else { return [] }
        targets[target.id] = Target(query: target.query, token: target.resumeToken)
        guard isOpen else { return [] }
        if leaving.contains(target.id) {
            // The confirmation of the removal would be taken for the end of the new target.
            targets[target.id]?.phase = .removing(again: true)
            return []
        }
        return ask(target.id)
    }

    mutating func remove(_ id: Int32) -> [Action] {
        guard let target = targets.removeValue(forKey: id) else { return [] }
        guard isOpen else { return [] }
        switch target.phase {
        case .closed, .refused: return []
        case .removing: return [currentTargets]
        case .adding, .active, .requestedAgain:
            leaving.insert(id)
            return [.remove(id), currentTargets]
        }
    }

    /// Requests targets again from the beginning, because the replica's members do not agree with
    /// the remote's count.
    mutating func restart(_ ids: Set<Int32>) -> [Action] {
        var actions: [Action] = []
        for id in ids.sorted() where targets[id] != nil {
            targets[id]?.token = []
            targets[id]?.isCurrent = false
            guard isOpen, case .active? = targets[id]?.phase else { continue }
            targets[id]?.phase = .removing(again: true)
            leaving.insert(id)
            actions.append(.remove(id))
        }
        return actions + [currentTargets]
    }

    private mutating func ask(_ id: Int32, as phase: Target.Phase = .adding) -> [Action] {
        guard let target = targets[id] else { return [] }
        targets[id]?.phase = phase
        return [.add(RemoteTarget(id: id, query: target.query, resumeToken: target.token))]
    }

    private mutating func requestRefusedTargets(at readTime: Timestamp) -> [Action] {
        var due: [Int32] = []
        for (id, target) in targets {
            guard case .refused(let since) = target.phase else { continue }
            guard let since else {
                targets[id]?.phase = .refused(since: readTime)
                continue
            }
            let age = readTime.microseconds.subtractingReportingOverflow(since.microseconds)
            if age.overflow || age.partialValue >= Self.refusalMicroseconds { due.append(id) }
        }
        return due.sorted().flatMap { ask($0, as: .requestedAgain) }
    }

    // MARK: Streams

    /// Requests a stream with all targets.
    mutating func open() -> [Action] {
        guard !isOpen, !targets.isEmpty else { return [] }
        isOpen = true
        for id in targets.keys { targets[id]?.phase = .adding }
        return [
            .open(
                targets.sorted { $0.key < $1.key }.map {
                    RemoteTarget(id: $0.key, query: $0.value.query, resumeToken: $0.value.token)
                })
        ]
    }

    /// Handles a stream that ended, could not be opened, or was silent for too long.
    mutating func ended(_ code: RemoteError.Code) -> [Action] {
        isOpen = false
        isHealthy = false
        items = []
        leaving = []
        for id in targets.keys {
            targets[id]?.phase = .closed
            targets[id]?.isCurrent = false
        }
        if code == .unauthenticated { return [currentTargets, .signIn] }
        return [currentTargets, .wait(overloaded: code == .overloaded || !code.isTransient)]
    }

    private var currentTargets: Action {
        .currentTargets(Set(targets.lazy.filter { $0.value.isCurrent }.map(\.key)))
    }

    // MARK: Events

    mutating func received(_ event: RemoteEvent) -> [Action] {
        guard isOpen else { return [] }
        switch event {
        case .lineage: break
        case .targetChange(let change): return targetChanged(change)
        case .changed(let document, let added, let removed):
            let (added, removed) = (active(added), active(removed))
            if !added.isEmpty || !removed.isEmpty {
                items.append(.changed(document, added: added, removed: removed))
            }
        case .deleted(let name, let removed, let readTime):
            if !active(removed).isEmpty { items.append(.deleted(name, readTime: readTime)) }
        case .left(let name, let removed):
            let removed = active(removed)
            if !removed.isEmpty { items.append(.left(name, removed: removed)) }
        case .filter(let target, let count):
            if !active([target]).isEmpty { items.append(.count(target: target, count)) }
        }
        return []
    }

    private func active(_ ids: [Int32]) -> [Int32] {
        ids.filter { if case .active? = targets[$0]?.phase { true } else { false } }
    }

    private mutating func targetChanged(_ change: RemoteEvent.TargetChange) -> [Action] {
        let ids = change.targetIDs.isEmpty ? Array(targets.keys) : change.targetIDs
        switch change.kind {
        case .added:
            for id in ids {
                switch targets[id]?.phase {
                case .adding, .requestedAgain: break
                default: continue
                }
                targets[id]?.phase = .active
                if targets[id]?.token.isEmpty == true { items.append(.reset([id])) }
            }
        case .current:
            let current = Set(active(ids))
            for id in current { targets[id]?.isCurrent = true }
            items.append(.current(current))
        case .reset:
            let reset = Set(active(ids))
            for id in reset {
                targets[id]?.isCurrent = false
                targets[id]?.token = []
            }
            items.append(.reset(reset))
        case .removed:
            return ids.flatMap { wasRemoved($0, cause: change.cause) }
        case .noChange:
            guard change.targetIDs.isEmpty, let readTime = change.readTime else { return [] }
            return requestRefusedTargets(at: readTime) + boundary(readTime, token: change.resumeToken)
        }
        return []
    }

    private mutating func wasRemoved(_ id: Int32, cause: RemoteError?) -> [Action] {
        leaving.remove(id)
        guard let target = targets[id] else { return [] }
        targets[id]?.isCurrent = false
        if case .removing(again: true) = target.phase { return ask(id) }
        if let cause, cause.code == .invalid || cause.code == .precondition, !target.token.isEmpty {
            // A token that is unknown to the remote is discarded, and the target is requested
            // again.
            targets[id]?.token = []
            return ask(id) + [currentTargets]
        }
        targets[id]?.phase = .refused(since: nil)
        let reason = cause ?? RemoteError(.transient, "The remote stopped watching a query without a reason.")
        return [.refused(id, reason), currentTargets]
    }

    /// The queries of the targets that became current, and of those with a limit that lost documents,
    /// where others may take their places.
    private var namedQueries: [Int32: Query] {
        var named: Set<Int32> = []
        for item in items {
            switch item {
            case .current(let ids): named.formUnion(ids)
            case .changed(_, _, let removed), .left(_, let removed): named.formUnion(removed.filter(isWindowed))
            case .deleted: named.formUnion(targets.keys.filter(isWindowed))
            case .reset, .count: break
            }
        }
        return targets.filter { named.contains($0.key) && $0.value.isCurrent }.mapValues(\.query)
    }

    private func isWindowed(_ id: Int32) -> Bool { targets[id]?.query.limit != nil }

    private mutating func boundary(_ readTime: Timestamp, token: [UInt8]) -> [Action] {
        isHealthy = true
        let speaksFor = targets.filter { entry in
            if case .active = entry.value.phase { entry.value.isResumable } else { false }
        }
        if !token.isEmpty {
            for id in speaksFor.keys { targets[id]?.token = token }
        }
        let isIdle = items.isEmpty
        let age = readTime.microseconds.subtractingReportingOverflow(handedOn.microseconds)
        if isIdle, !age.overflow, age.partialValue < Self.idleMicroseconds { return [] }
        handedOn = readTime
        let boundary = Boundary(
            items: items, readTime: readTime, resumeToken: token, targets: Set(speaksFor.keys),
            isComplete: targets.values.allSatisfy { $0.phase.isRefused || $0.isCurrent }, named: namedQueries)
        items = []
        return [.apply(boundary), currentTargets]
    }
}
