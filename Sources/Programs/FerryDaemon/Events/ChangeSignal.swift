import Synchronization

/// Tells one waiter that something may have changed since it last looked.
final class ChangeSignal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func set() { continuation.yield() }

    /// Returns at once if there was a change since the last call, and when the task is cancelled.
    func wait() async {
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next()
    }
}
