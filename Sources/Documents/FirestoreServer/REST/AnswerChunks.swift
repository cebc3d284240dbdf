import HTTPMessages
import Synchronization

/// The messages of a streamed answer as the elements of one JSON array, produced as fast as the
/// client reads.
struct AnswerChunks: AsyncSequence, Sendable {
    /// The bytes after which the producer waits until the client has read them.
    private static let chunkSize = 32 << 10

    private let chunks: AsyncThrowingStream<[UInt8], any Error>
    /// Asks the producer for one chunk.
    private let request: AsyncStream<Void>.Continuation

    /// Starts a producer in a task of its own, which is cancelled when the sequence is released.
    ///
    /// - Parameters:
    ///   - produce: Sends the messages, as JSON. An error before the first one ends the sequence.
    ///   - element: Returns the last element for an error after the first message.
    init(
        endingWith element: @escaping @Sendable (any Error) -> [UInt8],
        _ produce: @escaping @Sendable (_ send: @escaping FirestoreService.Send) async throws -> Void
    ) {
        let (chunks, chunk) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        self.chunks = chunks
        self.request = request
        let producer = Task {
            let writer = Writer(requests, chunk)
            do {
                try await writer.begin()
                try await produce { try await writer.add($0) }
                writer.end()
            } catch {
                guard writer.hasBegun else { return chunk.finish(throwing: error) }
                writer.end(with: element(error))
            }
        }
        chunk.onTermination = { _ in producer.cancel() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator(), request: request) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var chunks: AsyncThrowingStream<[UInt8], any Error>.AsyncIterator
        fileprivate let request: AsyncStream<Void>.Continuation

        mutating func next() async throws -> [UInt8]? {
            request.yield()
            return try await chunks.next()
        }
    }

    /// Collects messages into chunks.
    private final class Writer: Sendable {
        private struct State {
            var buffer: [UInt8] = []
            var count = 0
        }

        private let requests: AsyncStream<Void>
        private let chunk: AsyncThrowingStream<[UInt8], any Error>.Continuation
        private let state = Mutex(State())

        init(_ requests: AsyncStream<Void>, _ chunk: AsyncThrowingStream<[UInt8], any Error>.Continuation) {
            self.requests = requests
            self.chunk = chunk
        }

        /// Whether the first message was added.
        var hasBegun: Bool { state.withLock { $0.count > 0 } }

        func begin() async throws { try await waitForRequest() }

        func add(_ message: [UInt8]) async throws {
            let full: [UInt8]? = state.withLock { state in
                state.buffer += (state.count == 0 ? "[" : ",\r\n").utf8
                state.buffer += message
                state.count += 1
                guard state.buffer.count >= AnswerChunks.chunkSize else { return nil }
                defer { state.buffer = [] }
                return state.buffer
            }
            guard let full else { return }
            chunk.yield(full)
            try await waitForRequest()
        }

        func end(with element: [UInt8]? = nil) {
            let rest = state.withLock { state in
                if let element { state.buffer += Array(",\r\n".utf8) + element }
                state.buffer += (state.count == 0 ? "[]" : "]").utf8
                return state.buffer
            }
            chunk.yield(rest)
            chunk.finish()
        }

        private func waitForRequest() async throws {
            var iterator = requests.makeAsyncIterator()
            guard await iterator.next() != nil else { throw CancellationError() }
        }
    }
}

/// A sequence of chunks of which the first was read ahead.
struct ChunksAhead: AsyncSequence, Sendable {
    let first: [UInt8]?
    let rest: AnswerChunks

    func makeAsyncIterator() -> Iterator { Iterator(first: first, rest: rest.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var first: [UInt8]?
        fileprivate var rest: AnswerChunks.Iterator

        mutating func next() async throws -> [UInt8]? {
            if let first {
                self.first = nil
                return first
            }
            return try await rest.next()
        }
    }
}
