import Synchronization
package import SystemIO

/// The settled changes of a folder in real time, for one reader.
package final class FolderChanges: Sendable {
    private let folder: any TaskFolder
    private let debouncer: Mutex<EventDebouncer>
    private let environment: Environment
    private let start: Duration
    private let wakeUp = AsyncSignal()
    private let scanInterval: Duration
    /// When the next scan is due while not all directories are watched.
    private let nextScan: Mutex<Duration>

    /// - Parameter scanInterval: how often to ask for a scan while not all directories can be watched.
    package init(
        _ folder: any TaskFolder, times: SettleTimes = SettleTimes(), scanInterval: Duration = .seconds(30),
        environment: Environment = .system
    ) {
        self.folder = folder
        self.environment = environment
        start = environment.now()
        self.scanInterval = scanInterval
        nextScan = Mutex(scanInterval)
        debouncer = Mutex(EventDebouncer(times: times))
    }

    /// Waits for changes that have settled and gives at most `limit` of them, in an order in which they can be applied;
    /// never empty. While the reader works, further events wait in the kernel's queue, and where that is too short
    /// `rescanNeeded` comes instead of them, so memory is bounded whatever happens. Throws CancellationError when the
    /// task is cancelled; then nothing is lost.
    package func next(limit: Int = 1000) async throws -> [DebouncedChange] {
        while true {
            try Task.checkCancellation()
            let deadline = try turn(limit: limit)
            let changes = debouncer.withLock { $0.take(limit) }
            if !changes.isEmpty { return changes }
            try await wait(until: deadline)
        }
    }

    /// How many paths are gone and will be reported as removed unless they come back: whoever is
    /// told of a few removals can tell whether they are the first of many.
    package var missingCount: Int { debouncer.withLock { $0.missingCount } }

    /// How many paths have changed or gone and are still to be reported.
    package var pendingCount: Int { debouncer.withLock { $0.count } }

    /// Those paths.
    package var missingPaths: Set<TaskPath> { debouncer.withLock { $0.missingPaths } }

    /// Whether the reader was told of all that has gone; where not, it is before long.
    package var hasToldRemovals: Bool { debouncer.withLock { $0.hasToldRemovals } }

    /// Paths that a scan did not find where the reader knew them: each is reported as removed after the settle time,
    /// unless it comes back.
    package func noteMissing(_ paths: [TaskPath]) {
        let now = environment.now() - start
        debouncer.withLock { debouncer in
            for path in paths { debouncer.handleMissing(path, at: now) }
        }
        wakeUp.set()
    }

    /// A file that was seen while it may be half written: it is told of when it has settled.
    package func noteFound(_ path: TaskPath) {
        let now = environment.now() - start
        debouncer.withLock { $0.handle(.found(path), at: now) }
        wakeUp.set()
    }

    /// Files that the reader has read without having been told of them, as in a scan: if one of
    /// them is empty when it settles, it was not before.
    package func noteRead(_ paths: [TaskPath]) {
        debouncer.withLock { debouncer in
            for path in paths { debouncer.handleRead(path) }
        }
    }

    /// The reader is about to move a file, and knows where that is then: it is told of a change there, and of no move.
    package func expectMove(_ from: TaskPath, to: TaskPath) {
        let now = environment.now() - start
        debouncer.withLock { $0.expectMove(from, to: to, at: now) }
    }

    /// It has not moved it.
    package func forgetMove(_ from: TaskPath, to: TaskPath) { debouncer.withLock { $0.forgetMove(from, to: to) } }

    /// Lets a scan look, now.
    package func askForScan() {
        let now = environment.now() - start
        debouncer.withLock { $0.handle(.rescanNeeded(.notWatched), at: now) }
        wakeUp.set()
    }

    /// Takes the events that are there and looks at what is due; gives when something will be due next.
    private func turn(limit: Int) throws -> Duration? {
        let events = try folder.takeEvents()
        let now = environment.now() - start
        let due = debouncer.withLock { debouncer in
            for event in events { debouncer.handle(event, at: now) }
            return debouncer.duePaths(at: now, limit: limit)
        }
        let seen = zip(due, folder.stamps(due).map(Self.observation))
        // What was there may have got another name by then, and something else the one that was
        // looked at: that is told by now.
        let later = due.isEmpty ? [] : try folder.takeEvents()
        debouncer.withLock { debouncer in
            for event in later { debouncer.handle(event, at: now) }
            for (path, seen) in seen { debouncer.observe(path, seen, at: now) }
        }
        let scan = askForScan(at: now)
        // More may be waiting: come back at once.
        if !events.isEmpty || !later.isEmpty { return now }
        let next = debouncer.withLock { $0.nextDeadline }
        return [next, scan].compactMap { $0 }.min()
    }

    /// Asks for a scan where it is time for one and gives when the next will be; nil while watches tell everything.
    private func askForScan(at now: Duration) -> Duration? {
        if folder.isFullyWatched {
            nextScan.withLock { $0 = now + scanInterval }
            return nil
        }
        return nextScan.withLock { nextScan in
            if nextScan <= now {
                nextScan = now + scanInterval
                debouncer.withLock { $0.handle(.rescanNeeded(.notWatched), at: now) }
            }
            return nextScan
        }
    }

    private static func observation(_ stamp: Result<FileStamp?, FolderError>) -> EventDebouncer.Observation {
        switch stamp {
        case .success(let stamp): stamp.map { .file($0) } ?? .absent
        case .failure: .obstructed
        }
    }

    private func wait(until deadline: Duration?) async throws {
        if let deadline, start + deadline <= environment.now() { return }
        try await withThrowingTaskGroup { [folder, wakeUp, environment, start] group in
            group.addTask { try await folder.waitForEvents() }
            group.addTask { await wakeUp.wait() }
            if let deadline {
                group.addTask { try await environment.sleepUntil(start + deadline) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
