import Synchronization

/// Reads an object's content and, where the connection breaks, opens the rest of it anew. One reader at a time uses it; no actor,
/// since each part would cost a change of executors.
final class ResumingReader: Sendable {
    /// A connection that breaks this often without a byte between is not worth another try.
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

    func next() async throws -> [UInt8]? {
        while true {
            let (content, delivered) = state.withLock { ($0.content, $0.delivered) }
            guard delivered < length else { return nil }
            do {
                guard let part = try await content.makeAsyncIterator().next() else { return nil }
                state.withLock { state in
                    state.delivered += Int64(part.count)
                    state.fruitless = 0
                }
                return part
            } catch let error as ObjectStorageError where error.code.isTransient {
                try Task.checkCancellation()
                let fruitless = state.withLock { state in
                    state.fruitless += 1
                    return state.fruitless
                }
                guard fruitless <= Self.fruitlessLimit else { throw error }
                let rest = try await reopen(start + delivered..<start + length)
                guard rest.info.version == version, rest.length == length - delivered else { throw error }
                state.withLock { $0.content = rest }
            }
        }
    }
}
