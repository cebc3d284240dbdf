/// Reads an object's content and, where the connection breaks, opens the rest of it anew.
actor ResumingReader {
    /// A connection that breaks this often without a byte between is not worth another try.
    private static let fruitlessLimit = 3

    private var content: ObjectContent
    private let start: Int64
    private let version: String?
    private let reopen: @Sendable (Range<Int64>) async throws -> ObjectContent
    private let length: Int64
    private var delivered: Int64 = 0
    private var fruitless = 0

    init(
        content: ObjectContent, range: Range<Int64>?,
        reopen: @escaping @Sendable (Range<Int64>) async throws -> ObjectContent
    ) {
        self.content = content
        self.reopen = reopen
        start = range?.lowerBound ?? 0
        version = content.info.version
        length = content.length
    }

    func next() async throws -> [UInt8]? {
        while delivered < length {
            do {
                guard let part = try await content.makeAsyncIterator().next() else { return nil }
                delivered += Int64(part.count)
                fruitless = 0
                return part
            } catch let error as ObjectStorageError where error.code.isTransient {
                try Task.checkCancellation()
                fruitless += 1
                guard fruitless <= Self.fruitlessLimit else { throw error }
                let rest = try await reopen(start + delivered..<start + length)
                guard rest.info.version == version, rest.length == length - delivered else { throw error }
                content = rest
            }
        }
        return nil
    }
}
