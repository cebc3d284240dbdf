package import FirestoreProtocol

/// The documents of a query in its order, fetched page by page while they are consumed.
package struct QueryDocuments: AsyncSequence, Sendable {
    package typealias Element = EncodedDocument

    /// Creates a function that returns the next page, which is the last if `isLast`.
    typealias Pages = @Sendable () -> () async throws -> QueryPage

    private let pages: Pages

    init(pages: @escaping Pages) {
        self.pages = pages
    }

    package func makeAsyncIterator() -> Iterator { Iterator(nextPage: pages()) }

    package struct Iterator: AsyncIteratorProtocol {
        private let nextPage: () async throws -> QueryPage
        private var page: [EncodedDocument] = []
        private var index = 0
        private var isDone = false
        /// The number of documents that the query's offset has skipped so far.
        package private(set) var skippedCount = 0
        /// The cost of the pages so far.
        package private(set) var statistics = QueryStatistics()

        init(nextPage: @escaping () async throws -> QueryPage) {
            self.nextPage = nextPage
        }

        package mutating func next() async throws -> EncodedDocument? {
            while index == page.count {
                if isDone { return nil }
                try await fetch()
            }
            defer { index += 1 }
            return page[index]
        }

        /// Returns the next several documents at once; nil at the end.
        package mutating func nextPage() async throws -> [EncodedDocument]? {
            while index == page.count {
                if isDone { return nil }
                try await fetch()
            }
            // Not kept here as well: the caller may let go of documents one by one.
            defer {
                page = []
                index = 0
            }
            return index == 0 ? page : Array(page[index...])
        }

        private mutating func fetch() async throws {
            try Task.checkCancellation()
            let next = try await nextPage()
            page = next.documents
            index = 0
            isDone = next.isLast
            skippedCount += next.skippedCount
            statistics += next.statistics
        }
    }
}

/// A part of the results of a query.
struct QueryPage: Sendable {
    var documents: [EncodedDocument] = []
    var skippedCount = 0
    var statistics = QueryStatistics()
    var isLast = true
}
