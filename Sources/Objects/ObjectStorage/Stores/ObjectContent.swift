/// The content of an object as it arrives, in parts of whatever length the store finds handy. Can be read once.
///
/// Whoever stops reading early just lets go of it; the transfer ends with it.
public struct ObjectContent: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = any Error

    /// About the whole object, also where only a range was asked for.
    public let info: ObjectInfo
    /// How many bytes the parts make together.
    public let length: Int64

    private let next: @Sendable () async throws -> [UInt8]?
    private let rest: (@Sendable (inout [UInt8]) async throws -> Void)?

    /// - Parameter next: gives the parts in order, then nil. Throws where the object turns out shorter or longer than
    ///   `length`.
    public init(info: ObjectInfo, length: Int64, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.info = info
        self.length = length
        self.next = next
        rest = nil
    }

    /// - Parameter rest: appends the parts that `next` has not given yet, or all of them that came before a failure.
    init(
        info: ObjectInfo, length: Int64, next: @escaping @Sendable () async throws -> [UInt8]?,
        rest: @escaping @Sendable (inout [UInt8]) async throws -> Void
    ) {
        self.info = info
        self.length = length
        self.next = next
        self.rest = rest
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let part: @Sendable () async throws -> [UInt8]?

        public func next() async throws -> [UInt8]? { try await part() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(part: next) }

    /// All of it. Throws `.invalid` before anything is read if it is longer than `limit`.
    public func collect(limit: Int) async throws -> [UInt8] {
        var whole: [UInt8] = []
        try await collect(limit: limit, into: &whole)
        return whole
    }

    /// Like `collect(limit:)`, into an empty array whose room is used.
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

    /// Appends what has not been read yet, and what of it came before a failure; no more than one part beyond `length`.
    func appendRest(to bytes: inout [UInt8]) async throws {
        if let rest { return try await rest(&bytes) }
        var left = length
        while left >= 0, let part = try await next() {
            bytes.append(contentsOf: part)
            left -= Int64(part.count)
        }
    }
}
