extension Task where Failure == any Error {
    /// Waits for the task's value for at most `limit`.
    ///
    /// Returns nil if the time is over. The task is then cancelled but not awaited, because it may
    /// be blocked in a call that ignores cancellation.
    package func value(within limit: Duration) async throws -> Success? {
        let (results, post) = AsyncStream<Result<Success, any Error>?>.makeStream()
        // Both tasks end when the event that they wait for occurs.
        let waiting = Task<Void, Never> { post.yield(await result) }
        let timer = Task<Void, any Error> {
            try await Task<Never, Never>.sleep(for: limit)
            post.yield(nil)
        }
        defer {
            cancel()
            waiting.cancel()
            timer.cancel()
        }
        for await result in results { return try result?.get() }
        try Task<Never, Never>.checkCancellation()
        return nil
    }
}
