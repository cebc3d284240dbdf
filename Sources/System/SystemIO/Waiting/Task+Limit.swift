extension Task where Failure == any Error {
    /// What the task gives; nil where the time is up first: then it is cancelled and not waited for, as it may be stuck in what
    /// no cancellation reaches.
    package func value(within limit: Duration) async throws -> Success? {
        let (results, post) = AsyncStream<Result<Success, any Error>?>.makeStream()
        // Both end with what they wait for.
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
