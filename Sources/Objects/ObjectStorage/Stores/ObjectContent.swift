/// The content of an object, as a sequence of parts of any length that the store chooses. It can be
/// read once.
///
/// A reader may stop early by releasing the sequence; the transfer ends then.
public struct ObjectContent: AsyncSequence, Sendable {
    /// The bytes of one part.
    public typealias Element = [UInt8]
    /// The errors are `ObjectStorageError`, or `CancellationError` if the task is cancelled.
    public typealias Failure = any Error

    /// Information on the whole object, even if only a range was requested.
    public let info: ObjectInfo
    /// The sum of the lengths of all parts, in bytes.
    public let length: Int64

    private let next: @Sendable () async throws -> [UInt8]?
    private let rest: (@Sendable (inout [UInt8]) async throws -> Void)?

    /// Creates content.
    ///
    /// - Parameter next: Returns the parts in order, then nil. It throws if the object turns out to
    ///   be shorter or longer than `length`.
    public init(info: ObjectInfo, length: Int64, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.info = info
        self.length = length
        self.next = next
        rest = nil
    }

    /// Creates content that can be read as a whole faster than in parts.
    ///
    /// - Parameter rest: Appends all bytes that `next` has not returned. If it throws, the bytes
    ///   that were received stay appended.
    init(
        info: ObjectInfo, length: Int64, next: @escaping @Sendable () async throws -> [UInt8]?,
        rest: @escaping @Sendable (inout [UInt8]) async throws -> Void
    ) {
        self.info = info
        self.length = length
        self.next = next
        self.rest = rest
    }

    /// The iterator over the parts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let part: @Sendable () async throws -> [UInt8]?

        /// Returns the next part; nil at the end.
        public func next() async throws -> [UInt8]? { try await part() }
    }

    /// Creates the iterator. All iterators continue at the same place.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(part: next) }

    /// Reads all of the content. Throws `.invalid` before it reads anything if the content is
    /// longer than `limit`.
    public func collect(limit: Int) async throws -> [UInt8] {
        var whole: [UInt8] = []
        try await collect(limit: limit, into: &whole)
        return whole
    }

    /// The same as `collect(limit:)`, but reads into an empty array to reuse its memory.
    func collect(limit: Int, into whole: inout [UInt8]) async throws {
        guard length <= Int64(limit) else {
            throw ObjectStorageError(
                .invalid, "the object \(info.key) has \(length) bytes where at most \(limit) are expected")
        }
        whole.reserveCapacity(Int(length))
        try await appendRest(to: &whole)
        guard Int64(whole.count) == length else {
            throw ObjectStorageError(
                .transient, "the object \(info.key) arrived with \(whole.count) of \(length) bytes")
        }
    }

    /// Appends all bytes that were not read yet, at most one part more than `length`. If it throws,
    /// the bytes that were received stay appended.
    func appendRest(to bytes: inout [UInt8]) async throws {
        if let rest { return try await rest(&bytes) }
        var left = length
        while left >= 0, let part = try await next() {
            bytes.append(contentsOf: part)
            left -= Int64(part.count)
        }
    }
}
