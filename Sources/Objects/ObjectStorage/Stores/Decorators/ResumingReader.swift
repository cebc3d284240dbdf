import Synchronization
import SystemIO

/// Reads the content of an object. If the connection breaks, it requests the rest again. Only one
/// task at a time may use a reader; it is no actor, because a change of executors for each part
/// would be too slow.
final class ResumingReader: Sendable {
    /// The maximum number of consecutive broken connections without a byte received.
    private static let fruitlessLimit = 3

    private struct State {
        var content: ObjectContent
        var delivered: Int64 = 0
        var fruitless = 0
    }

    private let start: Int64
    private let version: String?
    private let reopen: @Sendable (Range<Int64>) async throws -> ObjectContent
    private let length: Int64
    private let state: Mutex<State>

    init(
        content: ObjectContent, range: Range<Int64>?,
        reopen: @escaping @Sendable (Range<Int64>) async throws -> ObjectContent
    ) {
        self.reopen = reopen
        start = range?.lowerBound ?? 0
        version = content.info.version
        length = content.length
        state = Mutex(State(content: content))
    }

    /// Returns the next part; nil at the end.
    func next() async throws -> [UInt8]? {
        while let content = rest {
            do {
                guard let part = try await content.makeAsyncIterator().next() else { return nil }
                hasDelivered(part.count)
                return part
            } catch let error as ObjectStorageError where error.code.isTransient {
                try await resume(after: error)
            }
        }
        return nil
    }

    /// Appends all bytes that `next` has not returned. If it throws, the bytes that were received
    /// stay appended.
    func appendRest(to bytes: inout [UInt8]) async throws {
        while let content = rest {
            let before = bytes.count
            do {
                try await content.appendRest(to: &bytes)
                return hasDelivered(bytes.count - before)
            } catch let error as ObjectStorageError where error.code.isTransient {
                hasDelivered(bytes.count - before)
                try await resume(after: error)
            }
        }
    }

    /// The content to read next; nil at the end.
    private var rest: ObjectContent? { state.withLock { $0.delivered < length ? $0.content : nil } }

    private func hasDelivered(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { state in
            state.delivered += Int64(count)
            state.fruitless = 0
        }
    }

    /// Requests the rest again. Throws `error` if there were too many failures or the object is a
    /// different version now.
    private func resume(after error: ObjectStorageError) async throws {
        try Task.checkCancellation()
        let (delivered, fruitless) = state.withLock { state in
            state.fruitless += 1
            return (state.delivered, state.fruitless)
        }
        guard delivered < length else { return }
        guard fruitless <= Self.fruitlessLimit else { throw error }
        let rest = try await reopen(start + delivered..<start.saturatingAdded(to: length))
        guard rest.info.version == version, rest.length == length - delivered else { throw error }
        state.withLock { $0.content = rest }
    }
}
