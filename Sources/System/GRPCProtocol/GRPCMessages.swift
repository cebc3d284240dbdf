/// The messages that arrive on a call, in order.
///
/// A message is requested only when the iterator is asked for it. All iterators of a call read the
/// same stream, and only one task at a time may read it.
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
