/// The events of a response's body. Comments are skipped, and an unfinished event at the end is
/// dropped, as the standard requires.
package struct ServerSentEvents: AsyncSequence, Sendable {
    package typealias Element = ServerSentEvent

    private let body: HTTPBody
    private let limit: Int

    /// - Parameter limit: The maximum size of an event in bytes; a larger one throws
    ///   `.bodyTooLarge`.
    package init(_ body: HTTPBody, limit: Int = 4 << 20) {
        self.body = body
        self.limit = limit
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(body.makeAsyncIterator(), ServerSentEventParser(limit: limit))
    }

    package struct Iterator: AsyncIteratorProtocol {
        private var chunks: HTTPBody.Iterator
        private var parser: ServerSentEventParser
        private var ready: ArraySlice<ServerSentEvent> = []

        fileprivate init(_ chunks: HTTPBody.Iterator, _ parser: ServerSentEventParser) {
            self.chunks = chunks
            self.parser = parser
        }

        package mutating func next() async throws -> ServerSentEvent? {
            while ready.isEmpty {
                guard let chunk = try await chunks.next() else { return nil }
                ready = try parser.read(chunk)[...]
            }
            return ready.popFirst()
        }
    }
}
