import DocumentModel
import FirestoreProtocol

/// A query in progress: reads its results page by page, each page in a separate snapshot, all as of
/// one time.
///
/// A value that moves between a query's stream and the readers. It holds no snapshot, so a slow
/// consumer does not prevent the WAL from being checkpointed.
struct QueryExecution: Sendable {
    private enum Progress {
        case notStarted
        case ordered(Scan, needsMatching: Bool, sortsGroups: Bool, after: ScanPosition?, group: [QueryMatch])
        case merged(MergedScans)
        /// The names of all remaining results, in order.
        case listed([DocumentName], next: Int)
        /// The remaining results, in order. Only for vector searches, which have at most 1000.
        case computed([Document], next: Int)
        case done
    }

    let plan: QueryPlan
    let readTime: Int64
    private var progress = Progress.notStarted
    private var past: PastVersions
    private var last: EncodedDocument?
    private var offsetLeft: Int
    private var limitLeft: Int
    /// The access path chosen by the first page.
    private(set) var accessPath: AccessPath?

    init(plan: QueryPlan, readTime: Int64) {
        self.plan = plan
        self.readTime = readTime
        past = PastVersions(plan: plan, readTime: readTime)
        offsetLeft = Int(plan.query.offset)
        limitLeft = plan.query.limit.map { Int($0) } ?? .max
    }

    /// Reads the next page in a snapshot whose newest commit is `visible`.
    mutating func nextPage(in snapshot: any StoreSnapshot, visible: Int64) throws -> QueryPage {
        var page = QueryPage()
        if case .notStarted = progress { try start(in: snapshot, visible: visible, &page.statistics) }
        switch progress {
        case .notStarted, .done: break
        case .ordered: try readOrdered(into: &page, in: snapshot, visible: visible)
        case .merged: try readMerged(into: &page, in: snapshot, visible: visible)
        case .listed(let names, let next): try readListed(names, from: next, into: &page, in: snapshot)
        case .computed(let documents, let next):
            let end = min(documents.count, next + snapshot.tuning.pageCount)
            page.documents = documents[next..<end].map(EncodedDocument.init)
            progress = end == documents.count ? .done : .computed(documents, next: end)
        }
        if case .done = progress { page.isLast = true } else { page.isLast = false }
        return page
    }

    private mutating func start(
        in snapshot: any StoreSnapshot, visible: Int64, _ statistics: inout QueryStatistics
    ) throws {
        let path = try QueryPlanner(plan: plan, snapshot: snapshot).accessPath()
        accessPath = path
        switch path {
        case .nothing: progress = .done
        case .ordered(let scan, let needsMatching, let sortsGroups):
            progress = .ordered(scan, needsMatching: needsMatching, sortsGroups: sortsGroups, after: nil, group: [])
        case .merged(let inputs):
            progress = .merged(MergedScans(inputs, plan: plan, readTime: readTime))
        case .gathered(let scans):
            try past.extend(through: visible, after: nil, in: snapshot)
            if plan.query.findNearest == nil {
                progress = .listed(try gather(scans, in: snapshot, &statistics), next: 0)
            } else {
                var matches: [Document] = []
                try forEachMatch(scans, in: snapshot, whole: true, &statistics) { matches.append($0) }
                progress = .computed(plan.results(among: matches).documents, next: 0)
            }
        }
    }

    /// Returns all results at once, for queries whose results are known to be few.
    static func all(_ plan: QueryPlan, at time: Int64, in snapshot: any StoreSnapshot, visible: Int64) throws
        -> [EncodedDocument]
    {
        var execution = QueryExecution(plan: plan, readTime: time)
        var documents: [EncodedDocument] = []
        while true {
            let page = try execution.nextPage(in: snapshot, visible: visible)
            documents += page.documents
            if page.isLast { return documents }
        }
    }

    // MARK: In the order of an index

    private mutating func readOrdered(into page: inout QueryPage, in snapshot: any StoreSnapshot, visible: Int64) throws
    {
        guard case .ordered(let scan, let needsMatching, let sortsGroups, var position, var group) = progress else {
            return
        }
        try past.extend(through: visible, after: last, in: snapshot)
        var size = 0
        var isFull = false
        try ScanReader(snapshot: snapshot).read(scan, after: position) { candidate in
            if !group.isEmpty, let position, !position.hasSameKey(as: candidate.position) {
                try emit(&group, into: &page, size: &size)
            }
            if limitLeft == 0 || page.documents.count >= snapshot.tuning.pageCount || size >= snapshot.tuning.pageBytes
            {
                isFull = true
                return false
            }
            position = candidate.position
            page.statistics.entriesScanned += 1
            page.statistics.documentsScanned += 1
            guard candidate.document.updateTime.microseconds <= readTime else { return true }
            let isCut = candidate.position.isCut
            if needsMatching || sortsGroups || isCut || !past.documents.isEmpty {
                let match = try QueryMatch(candidate.document, plan)
                guard !needsMatching || plan.matches(match.document) else { return true }
                if sortsGroups || isCut {
                    group.append(match)
                    return true
                }
                try emitPast(before: match.document, into: &page, size: &size)
            }
            try emit(candidate.document, into: &page, size: &size)
            return true
        }
        if isFull, limitLeft > 0 {
            progress = .ordered(
                scan, needsMatching: needsMatching, sortsGroups: sortsGroups, after: position, group: group)
        } else {
            try emit(&group, into: &page, size: &size)
            try emitPast(before: nil, into: &page, size: &size)
            progress = .done
        }
    }

    private mutating func readMerged(into page: inout QueryPage, in snapshot: any StoreSnapshot, visible: Int64) throws
    {
        guard case .merged(var scans) = progress else { return }
        past.leaveOut(scans.readAhead)
        try past.extend(through: visible, after: last, in: snapshot)
        var size = 0
        while limitLeft > 0, page.documents.count < snapshot.tuning.pageCount, size < snapshot.tuning.pageBytes {
            guard let match = try scans.next(in: snapshot, &page.statistics) else {
                try emitPast(before: nil, into: &page, size: &size)
                progress = .done
                return
            }
            try emitPast(before: match.document, into: &page, size: &size)
            try emit(match.encoded, into: &page, size: &size)
        }
        progress = limitLeft > 0 ? .merged(scans) : .done
    }

    private mutating func emit(_ group: inout [QueryMatch], into page: inout QueryPage, size: inout Int) throws {
        group.sort { plan.compare($0.document, $1.document) < 0 }
        for match in group {
            try emitPast(before: match.document, into: &page, size: &size)
            try emit(match.encoded, into: &page, size: &size)
        }
        group = []
    }

    private mutating func emitPast(before next: Document?, into page: inout QueryPage, size: inout Int) throws {
        guard !past.documents.isEmpty else { return }
        for document in past.take(before: next) { try emit(EncodedDocument(document), into: &page, size: &size) }
    }

    private mutating func emit(_ document: EncodedDocument, into page: inout QueryPage, size: inout Int) throws {
        guard limitLeft > 0 else { return }
        last = document
        guard offsetLeft == 0 else {
            offsetLeft -= 1
            page.skippedCount += 1
            return
        }
        if limitLeft != .max { limitLeft -= 1 }
        let projected = try plan.project(document)
        size += projected.fields.bytes.count + 200
        page.documents.append(projected)
    }

    // MARK: Collected and sorted

    private func gather(
        _ scans: [Scan], in snapshot: any StoreSnapshot, _ statistics: inout QueryStatistics
    ) throws -> [DocumentName] {
        var collector = ResultCollector(plan, wanted: plan.query.limit.map { Int(plan.query.offset) + Int($0) })
        try forEachMatch(scans, in: snapshot, whole: false, &statistics) { collector.add($0) }
        return collector.names()
    }

    /// Calls `body` once for each match, in no order.
    ///
    /// - Parameter whole: whether matches have all fields, rather than only those that the plan
    ///   reads.
    private func forEachMatch(
        _ scans: [Scan], in snapshot: any StoreSnapshot, whole: Bool, _ statistics: inout QueryStatistics,
        _ body: (Document) throws -> Void
    ) throws {
        var seen = Set<DocumentName>()
        for scan in scans {
            try ScanReader(snapshot: snapshot).read(scan, after: nil) { candidate in
                statistics.entriesScanned += 1
                if scans.count == 1 || !seen.contains(candidate.document.name) { statistics.documentsScanned += 1 }
                guard candidate.document.updateTime.microseconds <= readTime else { return true }
                let document =
                    try whole ? Document(candidate.document) : QueryMatch(candidate.document, plan).document
                guard plan.matches(document) else { return true }
                if scans.count == 1 || seen.insert(document.name).inserted { try body(document) }
                return true
            }
        }
        for document in past.documents { try body(document) }
    }

    private mutating func readListed(
        _ names: [DocumentName], from start: Int, into page: inout QueryPage, in snapshot: any StoreSnapshot
    ) throws {
        var next = start
        var size = 0
        snapshot.prefetch(names[start...].prefix(snapshot.tuning.pageCount))
        while next < names.count, limitLeft > 0, page.documents.count < snapshot.tuning.pageCount,
            size < snapshot.tuning.pageBytes
        {
            // Entries were counted when they were collected.
            if let document = try snapshot.document(names[next], at: readTime) {
                try emit(document, into: &page, size: &size)
            }
            next += 1
        }
        progress = next < names.count && limitLeft > 0 ? .listed(names, next: next) : .done
    }
}
