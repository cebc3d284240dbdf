/// Decides when a change counts. A pure machine: events and a monotonic time go in; paths to look at come out, what was
/// seen there goes in, and settled changes come out.
///
///     handle(event, at: now) … while nextDeadline <= now { for path in duePaths(at: now) { observe(path, …, at: now) } } … take()
///
/// Events only say where to look; what is reported is what was seen on the disk. So a rename-over
/// save, a delete followed by a create and an editor's backup dance all come out as one `changed`.
package struct EventDebouncer: Sendable {
    /// What was seen at a path.
    package enum Observation: Hashable, Sendable {
        case file(FileStamp)
        /// For the check of a removed directory: it is there again.
        case directory
        case absent
        /// No regular file, or not visible.
        case obstructed
    }

    private struct Pending: Sendable {
        var number: UInt64
        var deadline: Duration
        /// When the first change since the last report was seen.
        var since: Duration
        /// Where a rename took it from.
        var origin: TaskPath?
        var isDirectory = false
        /// Its time has come, and nothing was told of it since.
        var isDue = false
        /// Open for writing, as far as is known.
        var isWriting = false
        /// It may have had content before: something else than a creation came first, or it was
        /// closed and written again. One that came from a name where it lay untouched has what it
        /// had there.
        var isKnown: Bool
        var removed: Duration?
        /// By a rename whose other half nobody saw, or when nobody looked.
        var isMovedAway = false
        /// Whether it was seen to be gone.
        var isAbsent = false
        var foundEmpty: Duration?
    }

    /// The first half of a rename.
    private struct Leaving: Sendable {
        var path: TaskPath
        /// Where it had come from before that.
        var origin: TaskPath
        /// Nothing but renames was told of it since it was last reported.
        let isUntouched: Bool
        let since: Duration
    }

    private struct Move: Hashable, Sendable {
        let from: TaskPath
        let to: TaskPath
    }

    private let times: SettleTimes
    private var pending: [TaskPath: Pending] = [:]
    private var queue = DeadlineQueue()
    private var lastNumber: UInt64 = 0
    /// First halves of renames, by cookie.
    private var leaving: [UInt32: Leaving] = [:]
    /// Where the file that was at a path has gone to: that is reported before anything new at the path.
    private var movedAway: [TaskPath: TaskPath] = [:]
    /// Moves that whoever takes what has settled makes itself, and that are still to be told of,
    /// each with the time until which they may.
    private var expected: [Move: Duration] = [:]
    /// When the last of the files that were found will have settled, as far as is known.
    private var foundSettles: Duration = .zero
    private var settled: [DebouncedChange] = []

    package init(times: SettleTimes = SettleTimes()) { self.times = times }

    /// How many paths wait.
    package var count: Int { pending.count }

    /// How many paths are gone and wait whether they come back.
    package var missingCount: Int { pending.values.count { $0.removed != nil } }

    /// Those paths.
    package var missingPaths: Set<TaskPath> { Set(pending.filter { $0.value.removed != nil }.keys) }

    /// Whether all that has gone was taken by whoever takes what has settled.
    package var hasToldRemovals: Bool { settled.isEmpty && missingCount == 0 }

    /// When to call `duePaths` next; nil while nothing waits.
    package var nextDeadline: Duration? { queue.first?.deadline }

    /// At most `limit` settled changes, in an order in which they can be applied. One scan sees
    /// what all that were asked for until now would have seen: only the last is among them.
    package mutating func take(_ limit: Int = .max) -> [DebouncedChange] {
        let taken = settled.prefix(limit)
        defer { settled.removeFirst(taken.count) }
        guard let scan = taken.lastIndex(where: \.isScan) else { return Array(taken) }
        return taken[..<scan].filter { !$0.isScan } + taken[scan...]
    }

    package mutating func handle(_ event: FolderEvent, at now: Duration) {
        switch event {
        case .created(let path):
            update(path, at: now, isKnown: false) { $0.isWriting = true }
        case .written(let path):
            update(path, at: now, isKnown: true) {
                // Once more after it was closed: it may have had content then.
                if !$0.isWriting { $0.isKnown = true }
                $0.isWriting = true
            }
        case .closed(let path):
            update(path, at: now, isKnown: true) { $0.isWriting = false }
        case .found(let path):
            // It may have been there for long: in a directory that has just been watched, or that can be read again.
            update(path, at: now, isKnown: true, after: times.found) { _ in }
            foundSettles = now + times.found
        case .attributes(let path):
            update(path, at: now, isKnown: true) { _ in }
        case .removed(let path):
            remove(path, at: now)
        case .movedFrom(let path, let cookie):
            // What takes a name whose file has left for where nobody saw it is another file, and
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
            // To a name that is ignored: it is gone as if it had been removed.
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

    /// Something that a scan did not find where it was expected: settles as a delete unless it comes back.
    package mutating func handleMissing(_ path: TaskPath, at now: Duration) {
        if pending[path] == nil { remove(path, at: now, isMovedAway: true) }
        if pending.count > times.limit { giveUp() }
    }

    /// A move that whoever takes what has settled is about to make, and knows of then: it comes out
    /// as a change of the file at its new path. One of which nobody tells, as where the queue is
    /// too short, is forgotten after a while.
    package mutating func expectMove(_ from: TaskPath, to: TaskPath, at now: Duration) {
        if expected.count >= 1024 { expected = expected.filter { $0.value > now } }
        expected[Move(from: from, to: to)] = now + .seconds(60)
    }

    /// It was not made.
    package mutating func forgetMove(_ from: TaskPath, to: TaskPath) { expected[Move(from: from, to: to)] = nil }

    /// What has been read by now is known, whatever was told of it.
    package mutating func handleRead(_ path: TaskPath) { pending[path]?.isKnown = true }

    /// The paths whose time has come, each once; call `observe` for every one of them.
    package mutating func duePaths(at now: Duration, limit: Int = .max) -> [TaskPath] {
        var due: [TaskPath] = []
        while due.count < limit, let first = queue.first, first.deadline <= now {
            _ = queue.removeFirst()
            guard pending[first.path]?.number == first.number else { continue }
            pending[first.path]?.isDue = true
            due.append(first.path)
        }
        // A rename's other half comes at once or never.
        if leaving.count > 64 || queue.first == nil {
            leaving = leaving.filter { $0.value.since + times.removed > now }
        }
        return due
    }

    /// What was told of since its time came is looked at again when it comes once more.
    package mutating func observe(_ path: TaskPath, _ observation: Observation, at now: Duration) {
        guard let state = pending[path], state.isDue else { return }
        switch observation {
        case .absent:
            // An event may be older than what is there now, so what was seen twice counts.
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
            // A file has taken the place of a directory, which has gone. What comes of the file, its own events tell.
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
            // What was here may be one of those that were found in a directory that nobody watched yet.
            let knowsWhatLeft = min(foundSettles, state.since + times.longest) + .milliseconds(1)
            if state.isMovedAway, now < knowsWhatLeft { return wait(path, until: knowsWhatLeft) { _ in } }
            forget(path)
            settled.append(state.origin.map { .moved(from: $0, to: path, stamp) } ?? .changed(path, stamp))
        case .directory, .obstructed:
            forget(path)
            if !state.isDirectory { settled.append(.obstructed(path)) }
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
        // A file that came and went unseen leaves no trace but the question whether the path was known before.
        state.removed = now
        state.isMovedAway = isMovedAway
        state.isAbsent = false
        state.isWriting = false
        state.isKnown = true
        state.isDirectory = false
        // Looked at soon: a save that renames its file into place has only exchanged it.
        state.deadline = now + times.closed
        schedule(path, state)
    }

    private mutating func arrive(_ path: TaskPath, from source: Leaving?, at now: Duration) {
        // It replaces what was there, or nothing: an empty file here may be the first half of a
        // save, unless it was empty before.
        if let replaced = pending[path]?.origin, movedAway[replaced] == path {
            movedAway[replaced] = nil
            // What had come from there a moment before is gone.
            if pending[replaced] == nil { remove(replaced, at: now) }
        }
        update(path, at: now, isKnown: true) { state in
            state.isWriting = false
            state.origin = nil
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
        // The rename tells why the source is gone. Where something new takes its name, its own events say so.
        if source.origin == source.path, isPaired { pending[source.path] = nil }
        breakCircle(at: path)
    }

    /// Files that have changed places: no order of moves could be applied one by one, so each is a change at its path.
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
        // An entry of the queue is good for any later deadline too: it is looked at then and put back.
        lastNumber += 1
        state.number = lastNumber
        state.isDue = false
        pending[path] = state
        queue.insert(.init(deadline: state.deadline, number: state.number, path: path))
        if queue.count > 2 * pending.count + 1024 { rebuildQueue() }
    }

    /// A file that is written to a thousand times leaves as many old entries.
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
        // Its file may be back where it was: it would wait for itself.
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
