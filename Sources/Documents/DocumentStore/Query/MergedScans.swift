import DocumentModel
import FirestoreProtocol

/// Several scans, each in the order of the results, read side by side: the first of their next
/// documents is the next result.
///
/// Each scan is read ahead a little, and more each time the read-ahead is used up, so that a limit
/// is reached without reading much unnecessarily.
struct MergedScans: Sendable {
    /// The number of scans beyond which collecting and sorting is faster.
    static let maximumCount = 100

    struct Input: Sendable, Hashable {
        let scan: Scan
        /// Whether documents with equal keys are in a different order than the results.
        let sortsGroups: Bool
    }

    private struct Stream {
        let input: Input
        var position: ScanPosition?
        /// The documents read ahead, in order, from `next` on.
        var matches: [QueryMatch] = []
        var next = 0
        var batch = 8
        var isOver = false

        var first: QueryMatch? { next < matches.count ? matches[next] : nil }
    }

    private static let largestBatch = 256
    private static let batchBytes = 1 << 18

    private let plan: QueryPlan
    private let readTime: Int64
    private var streams: [Stream]
    /// The streams that have not been read yet.
    private var starting: Range<Int>
    /// The streams with a next document. The one whose document is the next result is last.
    private var queue: [Int] = []

    init(_ inputs: [Input], plan: QueryPlan, readTime: Int64) {
        self.plan = plan
        self.readTime = readTime
        streams = inputs.map { Stream(input: $0) }
        starting = streams.indices
    }

    /// The documents that were read and not yet taken.
    var readAhead: [DocumentName] {
        streams.flatMap { $0.matches[$0.next...].map(\.document.name) }
    }

    /// Returns the next result; nil at the end. A document that several scans contain is returned
    /// once.
    mutating func next(in snapshot: any StoreSnapshot, _ statistics: inout QueryStatistics) throws -> QueryMatch? {
        for index in starting { try file(index, in: snapshot, &statistics) }
        starting = 0..<0
        guard let found = first else { return nil }
        while let index = queue.last, let match = first, match.document.name == found.document.name {
            queue.removeLast()
            streams[index].next += 1
            try file(index, in: snapshot, &statistics)
        }
        return found
    }

    private var first: QueryMatch? { queue.last.flatMap { streams[$0].first } }

    /// Inserts a stream at its position in the queue, unless it has ended.
    private mutating func file(
        _ index: Int, in snapshot: any StoreSnapshot, _ statistics: inout QueryStatistics
    ) throws {
        if streams[index].first == nil, !streams[index].isOver { try readOn(index, in: snapshot, &statistics) }
        guard let match = streams[index].first else { return }
        var range = queue.startIndex..<queue.endIndex
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            guard let other = streams[queue[middle]].first else { break }
            range =
                plan.compare(other.document, match.document) > 0
                ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        queue.insert(index, at: range.lowerBound)
    }

    private mutating func readOn(
        _ index: Int, in snapshot: any StoreSnapshot, _ statistics: inout QueryStatistics
    ) throws {
        var stream = streams[index]
        var matches: [QueryMatch] = []
        var group: [QueryMatch] = []
        var bytes = 0
        var isFull = false
        try ScanReader(snapshot: snapshot).read(stream.input.scan, after: stream.position) { candidate in
            if let position = stream.position, !group.isEmpty, !position.hasSameKey(as: candidate.position) {
                matches += group.sorted { plan.compare($0.document, $1.document) < 0 }
                group = []
            }
            if group.isEmpty, matches.count >= stream.batch || bytes >= Self.batchBytes {
                isFull = true
                return false
            }
            stream.position = candidate.position
            statistics.entriesScanned += 1
            statistics.documentsScanned += 1
            guard candidate.document.updateTime.microseconds <= readTime else { return true }
            let match = try QueryMatch(candidate.document, plan)
            guard plan.matches(match.document) else { return true }
            bytes += candidate.document.fields.bytes.count
            if stream.input.sortsGroups || candidate.position.isCut {
                group.append(match)
            } else {
                matches.append(match)
            }
            return true
        }
        stream.matches = matches + group.sorted { plan.compare($0.document, $1.document) < 0 }
        stream.next = 0
        stream.batch = min(2 * stream.batch, Self.largestBatch)
        stream.isOver = !isFull
        streams[index] = stream
    }
}

/// A candidate result, of which only the fields that the plan reads are decoded.
struct QueryMatch: Sendable {
    let document: Document
    let encoded: EncodedDocument

    init(_ encoded: EncodedDocument, _ plan: QueryPlan) throws {
        document = Document(
            name: encoded.name, fields: try encoded.fields.decoded(only: plan.fieldKeys),
            createTime: encoded.createTime, updateTime: encoded.updateTime)
        self.encoded = encoded
    }
}
