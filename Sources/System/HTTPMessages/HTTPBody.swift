/// The content of a message: nothing, bytes, a range of a file, or a stream of chunks.
///
/// As a sequence it yields chunks of at least one byte in order. Bytes and files can be read any
/// number of times. A stream can be read once, by one task; a second reader gets `.bodyGone`. A
/// stream from a peer is read from the network only as fast as it is consumed, and releasing it
/// unread ends the transfer.
package struct HTTPBody: Sendable, AsyncSequence {
    package typealias Element = [UInt8]

    package enum Content: Sendable {
        case bytes([UInt8])
        case file(FileRange)
        case stream(length: Int?, next: @Sendable () async throws -> [UInt8]?)
        /// No bytes, for the response to HEAD, with the length that GET would have.
        case omitted(length: Int)
    }

    package let content: Content
    /// Appends the unread rest of a stream from a peer in one operation.
    private let collectRest: (@Sendable (inout [UInt8]) async throws -> Void)?
    /// An object that lives as long as the message. A response is kept until it was sent or will
    /// not be sent.
    private let owner: (any Sendable)?

    package init(_ content: Content, owner: (any Sendable)? = nil) {
        self.content = content
        self.owner = owner
        collectRest = nil
    }

    /// Creates a body from a stream that a peer sends.
    ///
    /// - Parameter rest: Appends the unread rest of the stream. It is called only if the length,
    ///   and thus the memory that the rest takes, is known.
    package init(
        incoming length: Int?, _ next: @escaping @Sendable () async throws -> [UInt8]?,
        rest: @escaping @Sendable (inout [UInt8]) async throws -> Void
    ) {
        content = .stream(length: length, next: next)
        owner = nil
        collectRest = length.map { _ in rest }
    }

    package static let none = HTTPBody(.bytes([]))

    package static func bytes(_ bytes: [UInt8]) -> HTTPBody { HTTPBody(.bytes(bytes)) }

    /// Creates a body of bytes.
    ///
    /// - Parameter owner: An object that is released once the message was sent or will not be sent,
    ///   for example a share of a memory budget.
    package static func bytes(_ bytes: [UInt8], owner: (any Sendable)?) -> HTTPBody {
        HTTPBody(.bytes(bytes), owner: owner)
    }

    package static func text(_ text: String) -> HTTPBody { HTTPBody(.bytes(Array(text.utf8))) }

    package static func file(_ range: FileRange) -> HTTPBody { HTTPBody(.file(range)) }

    /// Creates the body of a response to HEAD: no bytes, but the length that GET would have.
    package static func omitted(length: Int) -> HTTPBody { HTTPBody(.omitted(length: Swift.max(0, length))) }

    /// Creates a stream by calling `next` until it returns nil. The calls never overlap.
    ///
    /// With a length, exactly that many bytes must follow. Without one, the message is sent
    /// chunked.
    package static func stream(length: Int? = nil, _ next: @escaping @Sendable () async throws -> [UInt8]?) -> HTTPBody
    {
        HTTPBody(.stream(length: length, next: next))
    }

    /// Creates a stream over a sequence, which is iterated once.
    package static func stream<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int? = nil) -> HTTPBody
    where Chunks.Element == [UInt8] {
        let reader = SequenceReader(chunks)
        return HTTPBody(.stream(length: length) { try await reader.next() })
    }

    /// The length in bytes, or nil if it is known only at the end.
    package var length: Int? {
        switch content {
        case .bytes(let bytes): bytes.count
        case .file(let range): range.length
        case .stream(let length, _): length
        case .omitted: 0
        }
    }

    /// Returns all bytes of the body. Throws `.bodyTooLarge` as soon as it is known to have more
    /// than `limit` bytes.
    package func collect(limit: Int) async throws -> [UInt8] {
        if let length, length > limit { throw Self.tooLarge(limit) }
        if case .bytes(let bytes) = content { return bytes }
        var whole: [UInt8] = []
        for try await chunk in self {
            guard chunk.count <= limit - whole.count else { throw Self.tooLarge(limit) }
            if whole.isEmpty { whole = chunk } else { whole += chunk }
        }
        return whole
    }

    /// Appends the unread rest of the body. If reading fails, the bytes that came before the
    /// failure are appended.
    ///
    /// There is no limit except the body's `length`, which the caller must have checked. The rest
    /// is received as fast as the peer sends it.
    package func appendRest(to bytes: inout [UInt8]) async throws {
        if let collectRest { return try await collectRest(&bytes) }
        for try await chunk in self { bytes += chunk }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(content) }

    package struct Iterator: AsyncIteratorProtocol {
        private let content: Content
        private var position = 0

        fileprivate init(_ content: Content) { self.content = content }

        package mutating func next() async throws -> [UInt8]? {
            switch content {
            case .omitted: return nil
            case .bytes(let bytes):
                guard position == 0, !bytes.isEmpty else { return nil }
                position = bytes.count
                return bytes
            case .stream(_, let next):
                while let chunk = try await next() {
                    if !chunk.isEmpty { return chunk }
                }
                return nil
            case .file(let range):
                guard position < range.length else { return nil }
                var failed = false
                let chunk = [UInt8](unsafeUninitializedCapacity: Swift.min(1 << 18, range.length - position)) {
                    let count = range.read(at: position, into: UnsafeMutableRawBufferPointer($0))
                    failed = count <= 0
                    $1 = Swift.max(count, 0)
                }
                if failed {
                    throw HTTPError(.invalidMessage, "A file became shorter, or unreadable, while it was sent.")
                }
                position += chunk.count
                return chunk
            }
        }
    }

    private static func tooLarge(_ limit: Int) -> HTTPError {
        HTTPError(.bodyTooLarge, "The body has more than the \(limit) bytes allowed.")
    }
}

/// A reference that owns the iterator of a sequence.
///
/// `@unchecked Sendable`: a body has one reader and its calls never overlap, so one task at a time
/// uses the iterator.
private final class SequenceReader<Chunks: AsyncSequence & Sendable>: @unchecked Sendable
where Chunks.Element == [UInt8] {
    private var iterator: Chunks.AsyncIterator

    init(_ chunks: Chunks) { iterator = chunks.makeAsyncIterator() }

    func next() async throws -> [UInt8]? {
        var current = iterator
        defer { iterator = current }
        return try await current.next()
    }
}
