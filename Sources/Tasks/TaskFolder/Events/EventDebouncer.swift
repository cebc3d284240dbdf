/// A debouncer that turns the events of a directory into stable changes.
///
/// It is a pure state machine. Its input is events with a monotonic time, and its output the paths
/// to examine. The next input is the state that was observed at these paths, and the output is
/// debounced changes.
///
///     handle(event, at: now) …
///     while let deadline = nextDeadline, deadline <= now {
///         for path in duePaths(at: now) { observe(path, …, at: now) }
///     }
///     … take()
///
/// Events only tell where to look; the reported state is the one on the disk. A save that renames a
/// new file over the old one, a delete followed by a create, and an editor that moves a backup out
/// of the way all result in one `changed`.
package struct EventDebouncer: Sendable {
    /// The state that was observed at a path.
    package enum Observation: Hashable, Sendable {
        case file(FileStamp)
        /// A removed directory exists again.
        case directory
        case absent
        /// The path is not a regular file, or cannot be examined.
        case obstructed
    }

    private struct Pending: Sendable {
        var number: UInt64
        var deadline: Duration
        /// The time of the first change since the last report.
        var since: Duration
        /// The path from which a rename moved the file.
        var origin: TaskPath?
        var isDirectory = false
        /// Whether the deadline has passed, with no event since then.
        var isDue = false
        /// Whether the file is open for writing, as far as is known.
        var isWriting = false
        /// Whether the file may have had content before: its first event was not a creation, or it
        /// was closed and written again. A file that was renamed keeps the value from its old name
        /// if it was untouched there.
        var isKnown: Bool
        var removed: Duration?
        /// Whether the file left through a rename without a second event, or without any event.
        var isMovedAway = false
        /// Whether the file was observed to be absent.
        var isAbsent = false
        /// Whether the file was deleted, or is missing for an unknown reason, and nothing has come to
        /// the path since.
        var isDeleted = false
        /// Whether a rename moved the file to the path of one that had just been deleted.
        var takesDeletedName = false
        var foundEmpty: Duration?
    }

    /// The first half of a rename.
    private struct Leaving: Sendable {
        var path: TaskPath
        /// The path from which an earlier rename had moved the file.
        var origin: TaskPath
        /// Whether the file had no events except renames since it was last reported.
        let isUntouched: Bool
        let since: Duration
    }

    private struct Move: Hashable, Sendable {
        let from: TaskPath
        let to: TaskPath
    }

    let times: SettleTimes
    private var pending: [TaskPath: Pending] = [:]
    private var queue = DeadlineQueue()
    private var lastNumber: UInt64 = 0
    /// The first halves of renames, by cookie.
    private var leaving: [UInt32: Leaving] = [:]
    /// The new path of the file that was at a path. It is reported before anything new at the old
    /// path.
    private var movedAway: [TaskPath: TaskPath] = [:]
    /// The moves that the reader of the changes makes itself and whose events are still to come,
    /// each with the time at which it is forgotten.
    private var expected: [Move: Duration] = [:]
    /// The time when the last of the files that were found in new directories will be debounced, as
    /// far as is known.
    private var foundSettles: Duration = .zero
    private var settled: [DebouncedChange] = []

    package init(times: SettleTimes = SettleTimes()) { self.times = times }

    /// The number of waiting paths.
    package var count: Int { pending.count }

    /// The number of paths that are absent and may still come back.
    package var missingCount: Int { pending.values.count { $0.removed != nil } }

    /// The paths that are absent and may still come back.
    package var missingPaths: Set<TaskPath> { Set(pending.filter { $0.value.removed != nil }.keys) }

    /// Whether there may be renames that the reader has not taken yet.
    package func hasRenames(at now: Duration) -> Bool {
        if !movedAway.isEmpty || leaving.values.contains(where: { $0.since + times.removed > now }) { return true }
        if pending.values.contains(where: \.isMovedAway) { return true }
        return settled.contains { change in
            switch change {
            case .moved, .movedAway, .directoryMoved, .rescanNeeded: true
            default: false
            }
        }
    }

    /// Whether the reader has taken all removals.
    package var hasToldRemovals: Bool { settled.isEmpty && missingCount == 0 }

    /// The time at which to call `duePaths` next; nil while nothing waits.
    package var nextDeadline: Duration? { queue.first?.deadline }

    /// Returns at most `limit` debounced changes, in an order in which they can be applied.
    ///
    /// One scan covers all requests for a scan so far, so only the last request is included.
    package mutating func take(_ limit: Int = .max) -> [DebouncedChange] {
        let taken = settled.prefix(limit)
        defer { settled.removeFirst(taken.count) }
        guard let scan = taken.lastIndex(where: \.isScan) else { return Array(taken) }
        return taken[..<scan].filter { !$0.isScan } + taken[scan...]
    }

    package mutating func handle(_ event: FolderEvent, at now: Duration) {
        switch event {
        case .created(let path):
            update(path, at: now, isKnown: false) {
                $0.isWriting = true
                $0.isDeleted = false
            }
        case .written(let path):
            update(path, at: now, isKnown: true) {
                // It is written again after it was closed, so it may have had content in between.
                if !$0.isWriting { $0.isKnown = true }
                $0.isWriting = true
            }
        case .closed(let path):
            update(path, at: now, isKnown: true) { $0.isWriting = false }
        case .found(let path):
            // The file may be old: its directory has just been watched, or has become readable.
            update(path, at: now, isKnown: true, after: times.found) { _ in }
            foundSettles = now + times.found
        case .attributes(let path):
            update(path, at: now, isKnown: true) { _ in }
        case .removed(let path):
            remove(path, at: now)
            pending[path]?.isDeleted = true
        case .movedFrom(let path, let cookie):
            // A file that takes the name of one that left without a trace is another file, and is
            // new wherever it arrives.
            let state = pending[path]
            if state?.isMovedAway != true {
                let isUntouched = state.map { $0.origin != nil && !$0.isKnown } ?? true
                leaving[cookie] = Leaving(
                    path: path, origin: state?.origin ?? path, isUntouched: isUntouched, since: now)
            }
            remove(path, at: now, isMovedAway: true)
        case .movedTo(let path, let cookie):
            let source = leaving.removeValue(forKey: cookie)
            switch path.kind(isDirectory: false) {
            case .taskFile, .attachment: arrive(path, from: source, at: now)
            // A file that gets an ignored name counts as removed.
            default: if let source { pending[source.path]?.isMovedAway = false }
            }
        case .directoryAppeared(let path):
            forget(path)
            settled.append(.directoryAppeared(path))
        case .directoryRemoved(let path):
            update(path, at: now, isKnown: true) {
                $0.isDirectory = true
                $0.removed = now
            }
        case .directoryMoved(let from, let to):
            moveDirectory(from: from, to: to)
        case .problem(let problem): settled.append(.problem(problem))
        case .rescanNeeded(let reason): settled.append(.rescanNeeded(reason))
        case .rootChanged: settled.append(.rootChanged)
        }
        if pending.count > times.limit { giveUp() }
    }

    /// Handles a path that a scan did not find. It is reported as removed unless it comes back.
    package mutating func handleMissing(_ path: TaskPath, at now: Duration) {
        if pending[path] == nil {
            remove(path, at: now, isMovedAway: true)
            pending[path]?.isDeleted = true
        }
        if pending.count > times.limit { giveUp() }
    }

    /// Announces a move that the reader is about to make, which is then reported as a change at the
    /// new path. If its events are lost in an overflow, the announcement expires.
    package mutating func expectMove(_ from: TaskPath, to: TaskPath, at now: Duration) {
        if expected.count >= 1024 { expected = expected.filter { $0.value > now } }
        expected[Move(from: from, to: to)] = now + .seconds(60)
    }

    /// Withdraws the announcement of a move that was not made.
    package mutating func forgetMove(_ from: TaskPath, to: TaskPath) { expected[Move(from: from, to: to)] = nil }

    /// Marks the file at a path as known, because the reader has read it.
    package mutating func handleRead(_ path: TaskPath) { pending[path]?.isKnown = true }

    /// Returns the paths whose deadline has passed, each once. Call `observe` for every one of
    /// them.
    package mutating func duePaths(at now: Duration, limit: Int = .max) -> [TaskPath] {
        var due: [TaskPath] = []
        while due.count < limit, let first = queue.first, first.deadline <= now {
            _ = queue.removeFirst()
            guard pending[first.path]?.number == first.number else { continue }
            pending[first.path]?.isDue = true
            due.append(first.path)
        }
        // The other half of a rename arrives at once or never.
        if leaving.count > 64 || queue.first == nil {
            leaving = leaving.filter { $0.value.since + times.removed > now }
        }
        return due
    }

    /// Handles the observed state of a path. A path with events since its deadline is ignored; it
    /// becomes due again.
    package mutating func observe(_ path: TaskPath, _ observation: Observation, at now: Duration) {
        guard let state = pending[path], state.isDue else { return }
        switch observation {
        case .absent:
            // The event may be older than the present state, so the file must be absent twice.
            let removed = state.removed ?? now
            let settles = removed + times.removed
            if settles > now || !state.isAbsent {
                return wait(path, until: max(settles, now + times.closed)) {
                    $0.removed = removed
                    $0.isAbsent = true
                }
            }
            forget(path)
            if state.isDirectory {
                settled.append(.directoryRemoved(path))
            } else {
                if let origin = state.origin { settled.append(.removed(origin)) }
                settled.append(state.isMovedAway ? .movedAway(path) : .removed(path))
            }
        case .file where state.isDirectory:
            // A file has taken the place of a directory, which is gone. The file's own events
            // report it.
            forget(path)
            settled.append(.directoryRemoved(path))
        case .file(let stamp):
            if stamp.size == 0, state.isKnown {
                let since = state.foundEmpty ?? now
                if since + times.empty > now {
                    return wait(path, until: since + times.empty) { $0.foundEmpty = since }
                }
            }
            if let target = movedAway[path], let other = pending[target] {
                return wait(path, until: max(other.deadline, now + .milliseconds(1))) { _ in }
            }
            // The file that left this path may be among those found in a directory that was not
            // watched yet.
            let knowsWhatLeft = min(foundSettles, state.since + times.longest) + .milliseconds(1)
            if state.isMovedAway, now < knowsWhatLeft { return wait(path, until: knowsWhatLeft) { _ in } }
            forget(path)
            let isFree = state.takesDeletedName
            settled.append(
                state.origin.map { .moved(from: $0, to: path, stamp, afterDelete: isFree) } ?? .changed(path, stamp))
        case .directory, .obstructed:
            forget(path)
            // A scan reports what is in the directory's place. If the directory is back, its own
            // event has replaced this state, unless that is still to come.
            settled.append(state.isDirectory ? .rescanNeeded(.replaced) : .obstructed(path, origin: state.origin))
        }
    }

    private mutating func forget(_ path: TaskPath) {
        if let origin = pending.removeValue(forKey: path)?.origin, movedAway[origin] == path { movedAway[origin] = nil }
    }

    // MARK: What waits

    private mutating func update(
        _ path: TaskPath, at now: Duration, isKnown: Bool, after time: Duration? = nil,
        _ change: (inout Pending) -> Void
    ) {
        var state = pending[path] ?? Pending(number: 0, deadline: now, since: now, isKnown: isKnown)
        if state.isDirectory { state = Pending(number: 0, deadline: now, since: now, isKnown: isKnown) }
        state.isAbsent = false
        change(&state)
        if state.isDirectory {
            state.deadline = now + (time ?? times.closed)
        } else {
            let isAttachment = path.kind(isDirectory: false) == .attachment
            let quiet = isAttachment ? times.attachmentQuiet : times.quiet
            let longest = isAttachment ? times.attachmentLongest : times.longest
            let wanted = now + (time ?? (state.isWriting ? quiet : times.closed))
            state.deadline = min(wanted, state.since + longest)
        }
        schedule(path, state)
    }

    private mutating func remove(_ path: TaskPath, at now: Duration, isMovedAway: Bool = false) {
        var state = pending[path] ?? Pending(number: 0, deadline: now, since: now, isKnown: true)
        // A file that came and went between two looks is reported as removed, because its path may
        // have been known before.
        state.removed = now
        state.isMovedAway = isMovedAway
        state.isAbsent = false
        state.isDeleted = false
        state.isWriting = false
        state.isKnown = true
        state.isDirectory = false
        // Look again soon, because a save that renames its file into place only replaces the file.
        state.deadline = now + times.closed
        schedule(path, state)
    }

    private mutating func arrive(_ path: TaskPath, from source: Leaving?, at now: Duration) {
        // The file replaces another one, or nothing. An empty file may be the first half of a save,
        // unless it was empty before.
        if let replaced = pending[path]?.origin, movedAway[replaced] == path {
            movedAway[replaced] = nil
            // The file that had come from there just before is gone.
            if pending[replaced] == nil { remove(replaced, at: now) }
        }
        let takesDeletedName = pending[path]?.isDeleted == true
        update(path, at: now, isKnown: true) { state in
            state.isWriting = false
            state.origin = nil
            state.takesDeletedName = takesDeletedName
            state.isDeleted = false
            state.isKnown = source?.isUntouched != true
        }
        guard let source else { return }
        let isPaired = pending[source.path]?.removed != nil
        if isPaired {
            pending[source.path]?.origin = nil
            pending[source.path]?.isMovedAway = false
        }
        if movedAway[source.origin] == source.path { movedAway[source.origin] = nil }
        let isExpected = expected.removeValue(forKey: Move(from: source.path, to: path)).map { $0 > now } == true
        if source.origin == path { return }
        if isExpected {
            if isPaired { pending[source.path] = nil }
            return
        }
        pending[path]?.origin = source.origin
        movedAway[source.origin] = path
        // The rename explains why the source is gone. If another file takes its name, that file's
        // own events report it.
        if source.origin == source.path, isPaired { pending[source.path] = nil }
        breakCircle(at: path)
    }

    /// Resolves files that have swapped places. No order of moves could be applied one by one, so
    /// each is reported as a change at its path.
    private mutating func breakCircle(at path: TaskPath) {
        var circle = [path]
        while let next = movedAway[circle[circle.count - 1]], next != path, circle.count <= movedAway.count {
            circle.append(next)
        }
        guard movedAway[circle[circle.count - 1]] == path else { return }
        for path in circle {
            movedAway[path] = nil
            pending[path]?.origin = nil
        }
    }

    private mutating func wait(_ path: TaskPath, until deadline: Duration, _ change: (inout Pending) -> Void) {
        guard var state = pending[path] else { return }
        change(&state)
        state.deadline = deadline
        schedule(path, state)
    }

    private mutating func schedule(_ path: TaskPath, _ state: Pending) {
        var state = state
        // A queue entry also serves for a later deadline: the path is then put back when it comes
        // up.
        lastNumber += 1
        state.number = lastNumber
        state.isDue = false
        pending[path] = state
        queue.insert(.init(deadline: state.deadline, number: state.number, path: path))
        if queue.count > 2 * pending.count + 1024 { rebuildQueue() }
    }

    /// Rebuilds the queue without outdated entries, of which a file that is written a thousand
    /// times leaves as many.
    private mutating func rebuildQueue() {
        queue.removeAll()
        for (path, state) in pending {
            queue.insert(.init(deadline: state.deadline, number: state.number, path: path))
        }
    }

    private mutating func moveDirectory(from: TaskPath, to: TaskPath) {
        if pending[from]?.isDirectory == true { pending[from] = nil }
        if pending[to]?.isDirectory == true { pending[to] = nil }
        settled.append(.directoryMoved(from: from, to: to))
        let affected = pending.filter { $0.key.isBeneath(from) || $0.value.origin?.isBeneath(from) == true }
        for path in affected.keys { pending[path] = nil }
        for (path, var state) in affected.sorted(by: { $0.value.number < $1.value.number }) {
            state.origin = state.origin?.moved(from: from, to: to)
            schedule(path.moved(from: from, to: to), state)
        }
        movedAway = [:]
        for (path, state) in pending {
            if let origin = state.origin { movedAway[origin] = path }
        }
        // A file that is back at its old path would wait for itself.
        for path in movedAway.values { breakCircle(at: path) }
        for (cookie, var half) in leaving {
            half.path = half.path.moved(from: from, to: to)
            half.origin = half.origin.moved(from: from, to: to)
            leaving[cookie] = half
        }
    }

    private mutating func giveUp() {
        pending = [:]
        queue.removeAll()
        leaving = [:]
        movedAway = [:]
        settled.append(.rescanNeeded(.tooManyChanges))
    }
}
