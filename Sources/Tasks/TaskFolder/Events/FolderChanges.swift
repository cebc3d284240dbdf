import Synchronization
package import SystemIO

/// The debounced changes of a folder in real time, for one reader.
package final class FolderChanges: Sendable {
    private let folder: any TaskFolder
    private let debouncer: Mutex<EventDebouncer>
    /// Held while events are taken, so that they reach the debouncer in their order.
    private let taking = Mutex(())
    private let environment: Environment
    private let start: Duration
    private let wakeUp = AsyncSignal()
    private let scanInterval: Duration
    /// The time of the next scan while not all directories are watched.
    private let nextScan: Mutex<Duration>

    /// Creates the changes of a folder.
    ///
    /// - Parameter scanInterval: The interval of scans while not all directories can be watched.
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

    /// Waits for debounced changes, and returns at least one and at most `limit` of them, in an
    /// order in which they can be applied.
    ///
    /// While the reader works, further events wait in the kernel's queue. If the queue overflows,
    /// `rescanNeeded` replaces them, so memory is bounded. Throws CancellationError when the task
    /// is cancelled, without losing a change.
    package func next(limit: Int = 1000) async throws -> [DebouncedChange] {
        while true {
            try Task.checkCancellation()
            let deadline = try turn(limit: limit)
            let changes = debouncer.withLock { $0.take(limit) }
            if !changes.isEmpty { return changes }
            try await wait(until: deadline)
        }
    }

    /// The time after which a missing file is reported as removed.
    package var removalDelay: Duration { debouncer.withLock { $0.times.removed } }

    /// The number of absent paths that will be reported as removed unless they come back. A reader
    /// of a few removals can thus tell whether they are the first of many.
    package var missingCount: Int { debouncer.withLock { $0.missingCount } }

    /// The number of paths that have changed or gone and are not reported yet.
    package var pendingCount: Int { debouncer.withLock { $0.count } }

    /// Those paths.
    package var missingPaths: Set<TaskPath> { debouncer.withLock { $0.missingPaths } }

    /// Whether the reader has received all removals. If not, it will soon.
    package var hasToldRemovals: Bool { debouncer.withLock { $0.hasToldRemovals } }

    /// Adds known paths that a scan did not find. Each is reported as removed after the debounce
    /// time, unless it comes back.
    package func noteMissing(_ paths: [TaskPath]) {
        let now = environment.now() - start
        debouncer.withLock { debouncer in
            for path in paths { debouncer.handleMissing(path, at: now) }
        }
        wakeUp.set()
    }

    /// Adds a file that was seen while it may have been half written. It is reported after the
    /// debounce time.
    package func noteFound(_ path: TaskPath) {
        add(.found(path))
    }

    /// Marks files that the reader has read without a reported change, as in a scan. If one of them
    /// is empty later, it was not empty before.
    package func noteRead(_ paths: [TaskPath]) {
        debouncer.withLock { debouncer in
            for path in paths { debouncer.handleRead(path) }
        }
    }

    /// Announces a file that the reader is about to move. The reader gets a change at the new path
    /// instead of a move.
    package func expectMove(_ from: TaskPath, to: TaskPath) {
        let now = environment.now() - start
        debouncer.withLock { $0.expectMove(from, to: to, at: now) }
    }

    /// Withdraws the announcement of a move that was not made.
    package func forgetMove(_ from: TaskPath, to: TaskPath) { debouncer.withLock { $0.forgetMove(from, to: to) } }

    /// Requests a scan now.
    package func askForScan() { add(.rescanNeeded(.notWatched)) }

    /// Requests that the reader checks whether the folder is still the same one.
    package func askForRootCheck() { add(.rootChanged) }

    private func add(_ event: FolderEvent) {
        let now = environment.now() - start
        debouncer.withLock { $0.handle(event, at: now) }
        wakeUp.set()
    }

    /// Whether there may be renames that are still to be reported, also some whose events were not
    /// taken yet.
    package func hasRenames() throws -> Bool {
        let now = environment.now() - start
        // The reader may be waiting for what has just been taken.
        if try takeEvents(at: now) { wakeUp.set() }
        return debouncer.withLock { $0.hasRenames(at: now) }
    }

    /// Gives the available events to the debouncer. Returns whether there were any.
    private func takeEvents(at now: Duration) throws -> Bool {
        try taking.withLock { _ in
            let events = try folder.takeEvents()
            debouncer.withLock { debouncer in for event in events { debouncer.handle(event, at: now) } }
            return !events.isEmpty
        }
    }

    /// Processes the available events and the paths that are due. Returns the time when something
    /// will be due next.
    private func turn(limit: Int) throws -> Duration? {
        let now = environment.now() - start
        let hasEvents = try takeEvents(at: now)
        let due = debouncer.withLock { $0.duePaths(at: now, limit: limit) }
        let seen = zip(due, folder.stamps(due).map(Self.observation))
        // A file may have been renamed, and another one may have taken its name, before it was
        // examined. The events of that have arrived by now.
        let hasMore = due.isEmpty ? false : try takeEvents(at: now)
        debouncer.withLock { debouncer in
            for (path, seen) in seen { debouncer.observe(path, seen, at: now) }
        }
        let scan = askForScan(at: now)
        // More events may be waiting: return at once.
        if hasEvents || hasMore { return now }
        let next = debouncer.withLock { $0.nextDeadline }
        return [next, scan].compactMap { $0 }.min()
    }

    /// Requests a scan if one is due. Returns the time of the next one, or nil if all directories
    /// are watched.
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
