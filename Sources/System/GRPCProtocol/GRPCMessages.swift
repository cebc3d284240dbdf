/// The messages that arrive on one call, in order.
///
/// The next message is asked for only when the iterator is. All iterators of a call take from the same stream, and only
/// one task at a time may read it.
package struct GRPCMessages: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = GRPCStatus

    private let source: any MessageSource

    package init(_ source: any MessageSource) { self.source = source }

    package func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: any MessageSource

        package mutating func next() async throws(GRPCStatus) -> [UInt8]? {
            try await source.next()
        }

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(GRPCStatus) -> [UInt8]? {
            try await source.next()
        }
    }
}

/// A call that messages can be read from.
package protocol MessageSource: Sendable {
    nonisolated(nonsending) func next() async throws(GRPCStatus) -> [UInt8]?
}
