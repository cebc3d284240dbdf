import SQLite
import SystemIO
import SystemService
import TaskFolder

/// One thing after the other, and what waits for the disk beside it.
extension TaskSync {
    /// Whose turn it is, and who waits for theirs.
    struct Turn {
        var isTaken = false
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastID: UInt64 = 0
    }

    /// Runs `body` when no other turn is running; turns come in the order in which they were asked
    /// for. Throws `CancellationError` where the task is cancelled before its turn comes. A failure
    /// of the state file is the last turn's, and ends `run`: what is in memory may be more than the
    /// file has, and must not be written to it by another turn.
    ///
    /// - Parameter name: of the turn, for whoever asks what it is that takes so long.
    func withExclusiveAccess<Result: Sendable>(
        _ name: String = #function, _ body: () async throws -> Result
    ) async throws -> Result {
        if turn.isTaken { try await waitForTurn() } else { turn.isTaken = true }
        let part = activity.begin("a turn of the sync, \(name)")
        defer {
            activity.end(part)
            releaseWhenIdle()
            if turn.waiting.isEmpty { turn.isTaken = false } else { turn.waiting.removeFirst().continuation.resume() }
            for observer in observers.values { observer() }
        }
        if let failure { throw failure }
        do {
            return try await body()
        } catch let error as SQLiteError {
            failure = error
            failureBell.yield(error)
            throw error
        }
    }

    /// Closes the tasks directory, so that its file system can be unmounted: at once while syncing
    /// is paused, otherwise after some seconds without a turn. To be called after whatever may have
    /// opened it.
    func releaseWhenIdle() {
        lastTurn = environment.now()
        if isPaused { folder.release() } else { planRelease() }
    }

    private func planRelease() {
        guard folder.isOpen, !isReleasePlanned else { return }
        isReleasePlanned = true
        let pause = max(.zero, lastTurn + Self.idleTime - environment.now())
        // Ends by itself; a bridge that is gone is not held.
        Task { [weak self, environment] in
            try? await environment.sleep(for: pause)
            await self?.releaseNow()
        }
    }

    private func releaseNow() {
        isReleasePlanned = false
        // The end of the turn plans anew.
        guard !turn.isTaken else { return }
        if environment.now() - lastTurn >= Self.idleTime { folder.release() } else { planRelease() }
    }

    private static let idleTime: Duration = .seconds(3)

    /// Throws as soon as a turn has failed.
    func followFailure() async throws {
        for await error in failures { throw error }
        throw CancellationError()
    }

    /// Comes back when the turn is this task's.
    private func waitForTurn() async throws {
        turn.lastID += 1
        let id = turn.lastID
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                // A cancellation before this found nobody to wake.
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                turn.waiting.append((id, continuation))
            }
        } onCancel: {
            Task { await self.stopWaitingForTurn(id) }
        }
    }

    private func stopWaitingForTurn(_ id: UInt64) {
        guard let index = turn.waiting.firstIndex(where: { $0.id == id }) else { return }
        turn.waiting.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    /// Runs what waits for the disk; meanwhile transfers start and end, within the same turn.
    func offload<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await wait(on: waiter, "the disk", body)
    }

    /// Makes a large file survive a power cut.
    func synchronize(_ path: TaskPath) async {
        await wait(on: synchronizer, "the disk, for \(path.name)") { [folder] in _ = folder.synchronize([path]) }
    }

    private func wait<Result: Sendable>(
        on thread: SerialThread, _ name: String, _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        guard environment.executor == nil else { return body() }
        return await activity.during(name) {
            await withCheckedContinuation { continuation in
                thread.async { continuation.resume(returning: body()) }
            }
        }
    }
}
