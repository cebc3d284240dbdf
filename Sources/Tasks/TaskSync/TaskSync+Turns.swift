import SQLite
import SystemIO
import SystemService
import TaskFolder

/// Runs the operations of the bridge one after the other, and disk operations beside them.
extension TaskSync {
    /// The turn in progress, and the tasks that wait for theirs.
    struct Turn {
        var isTaken = false
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastID: UInt64 = 0
    }

    /// Runs `body` while no other turn runs. Turns run in the order in which they were requested.
    ///
    /// - Parameter name: The name of the turn in reports of operations that take long.
    /// - Throws: `CancellationError` if the task is cancelled before its turn. An error of the
    ///   state file ends all turns and `run`: memory may be ahead of the file, and another turn
    ///   must not write that to it.
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
    /// is paused, otherwise after some seconds without a turn. It must be called after every
    /// operation that may have opened the directory.
    func releaseWhenIdle() {
        lastTurn = environment.now()
        if isPaused { folder.release() } else { planRelease() }
    }

    private func planRelease() {
        guard folder.isOpen, !isReleasePlanned else { return }
        isReleasePlanned = true
        let pause = max(.zero, lastTurn + Self.idleTime - environment.now())
        // The task ends automatically, and does not keep the bridge alive.
        Task { [weak self, environment] in
            try? await environment.sleep(for: pause)
            await self?.releaseNow()
        }
    }

    private func releaseNow() {
        isReleasePlanned = false
        // The end of the turn schedules the next release.
        guard !turn.isTaken else { return }
        if environment.now() - lastTurn >= Self.idleTime { folder.release() } else { planRelease() }
    }

    private static let idleTime: Duration = .seconds(3)

    /// Waits for a failure of a turn and throws it.
    func followFailure() async throws {
        for await error in failures { throw error }
        throw CancellationError()
    }

    /// Returns when the turn belongs to this task.
    private func waitForTurn() async throws {
        turn.lastID += 1
        let id = turn.lastID
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                // A cancellation before this has found no continuation to resume.
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

    /// Runs a disk operation on another thread. In the meantime transfers start and end, within the
    /// same turn.
    func offload<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await wait(on: waiter, "the disk", body)
    }

    /// Synchronizes a large file to disk, so that it survives a power cut.
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
