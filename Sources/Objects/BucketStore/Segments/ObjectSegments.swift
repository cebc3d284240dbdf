import Cryptography
import SQLite
import Synchronization
import SystemIO

/// Stores small objects one after the other in large files, so that concurrent puts share a sync
/// and need no file each.
///
/// A segment only grows. Each sync includes the file system's commit of the longer file. Reserving
/// blocks ahead would need the same commit, and writing zeros ahead would avoid it at the cost of
/// writing twice the bytes. An object that no record refers to is punched out of its segment once
/// it is not being read, and an empty segment is removed. If the file system cannot punch holes,
/// space is freed only by removing whole segments, and `SegmentCompaction` empties segments that
/// hold little.
final class ObjectSegments: Sendable {
    /// Keeps the bytes of a place unchanged as long as the lease exists.
    final class Lease: Sendable {
        private let place: SegmentPlace
        private let segments: ObjectSegments

        fileprivate init(_ place: SegmentPlace, _ segments: ObjectSegments) {
            self.place = place
            self.segments = segments
        }

        deinit { segments.endLease(place) }
    }

    /// An object to store, and its caller.
    private struct Waiting: Sendable {
        let bytes: ArraySlice<UInt8>
        let digest: SHA256Digest
        let done: CheckedContinuation<SegmentPlace, any Error>
    }

    private struct Queue {
        var waiting: [Waiting] = []
        var isStoring = false
    }

    private struct Writing {
        var current: SegmentFile?
        /// The offset of the next entry of the current segment.
        var end: Int64 = 0
        /// A segment that was created ahead, because creating one takes time.
        var next: SegmentFile?
        var isPreparing = false
        var isClosed = false
        /// The number of the next segment. No number is used twice, so that a place identifies one
        /// object forever.
        var nextNumber: Int
    }

    private let directory: String
    private let segmentSize: Int64
    private let writing: Mutex<Writing>
    private let ledger: Mutex<SegmentLedger>
    private let queue = Mutex(Queue())
    /// The thread that writes. More threads would only wait for each other, because they write to
    /// one file.
    private let storing = SerialThread()
    /// The buffer of the `storing` thread.
    private let pending = Mutex<[UInt8]>([])
    /// The thread that frees places after their last reader.
    private let tidying = SerialThread()
    private let punches: Atomic<Bool>

    /// Creates the segments of a store.
    ///
    /// - Parameters:
    ///   - directory: The store's directory.
    ///   - segmentSize: The maximum size of a segment in bytes.
    ///   - punches: Whether to punch holes. After the file system has refused one, no others are
    ///     tried.
    init(directory: String, _ state: SegmentState, segmentSize: Int64, punches: Bool) {
        self.directory = directory
        self.punches = Atomic(punches)
        self.segmentSize = segmentSize
        writing = Mutex(Writing(nextNumber: state.nextNumber))
        ledger = Mutex(SegmentLedger(live: state.live))
    }

    deinit {
        storing.stop()
        tidying.stop()
    }

    // MARK: writing

    /// Writes an object, and returns its place when it is durable.
    ///
    /// Concurrent calls share a write and a sync. If that fails, nothing of the object is kept.
    /// After a failed sync no more objects are written to the segment.
    func store(_ bytes: ArraySlice<UInt8>, _ digest: SHA256Digest) async throws -> SegmentPlace {
        try await withCheckedThrowingContinuation { done in
            let mustStart = queue.withLock { queue in
                queue.waiting.append(Waiting(bytes: bytes, digest: digest, done: done))
                defer { queue.isStoring = true }
                return !queue.isStoring
            }
            if mustStart { storing.async { [self] in storeAll() } }
        }
    }

    /// Stores the waiting objects, one group after another, until none is left. Runs on the
    /// `storing` thread.
    private func storeAll() {
        while true {
            let group = queue.withLock { queue in
                defer { queue.waiting = [] }
                queue.isStoring = !queue.waiting.isEmpty
                return queue.waiting
            }
            if group.isEmpty { return }
            var runs: [(file: SegmentFile, entries: [(waiting: Waiting, place: SegmentPlace)])] = []
            for waiting in group {
                do {
                    let (file, place) = try reserve(Int64(waiting.bytes.count))
                    if runs.last?.file !== file { runs.append((file, [])) }
                    runs[runs.endIndex - 1].entries.append((waiting, place))
                } catch {
                    waiting.done.resume(throwing: error)
                }
            }
            for (file, entries) in runs {
                do {
                    let objects = entries.map { ($0.waiting.bytes, $0.waiting.digest, $0.place) }
                    try pending.withLock { try file.write(objects, through: &$0) }
                    for entry in entries { entry.waiting.done.resume(returning: entry.place) }
                } catch {
                    release(entries.map(\.place))
                    for entry in entries { entry.waiting.done.resume(throwing: error) }
                }
            }
        }
    }

    private func reserve(_ size: Int64) throws -> (SegmentFile, SegmentPlace) {
        var actions: [SegmentLedger.Action] = []
        defer { perform(actions) }
        return try writing.withLock { writing in
            let length = EntryFormat.entrySize(Int(size))
            if let current = writing.current, current.hasFailed || writing.end + length > segmentSize {
                writing.current = nil
                actions = ledger.withLock { $0.seal(current.number) }
            }
            let file = try writing.current ?? begin(&writing)
            let place = SegmentPlace(number: file.number, offset: writing.end, size: size)
            writing.end += length
            ledger.withLock { $0.take(place) }
            if writing.end > segmentSize / 2 { prepare(&writing) }
            return (file, place)
        }
    }

    private func begin(_ writing: inout Writing) throws -> SegmentFile {
        let file = try writing.next.take() ?? make(&writing)
        ledger.withLock { $0.begin(file.number) }
        writing.current = file
        writing.end = EntryFormat.block
        return file
    }

    private func make(_ writing: inout Writing) throws -> SegmentFile {
        while true {
            writing.nextNumber += 1
            do {
                return try SegmentFile(number: writing.nextNumber - 1, in: directory)
            } catch let error as SystemError where error.code == .exists {
                // A process that was killed had created this segment ahead.
                continue
            }
        }
    }

    /// Creates the next segment on a thread of its own.
    private func prepare(_ writing: inout Writing) {
        guard writing.next == nil, !writing.isPreparing else { return }
        writing.isPreparing = true
        writing.nextNumber += 1
        let number = writing.nextNumber - 1
        let isStarted: Void? = try? WorkerThread.start(named: "segments") { [self] in
            // If this fails, the put that needs the segment tries again and reports the reason.
            let made = try? SegmentFile(number: number, in: directory)
            let isLate = self.writing.withLock { writing in
                writing.isPreparing = false
                if !writing.isClosed { writing.next = made }
                return writing.isClosed
            }
            if isLate { remove(number) }
        }
        if isStarted == nil { writing.isPreparing = false }
    }

    // MARK: reading

    /// Returns a lease of a place; nil if the place is about to be freed.
    func lease(_ place: SegmentPlace) -> Lease? {
        ledger.withLock { $0.lease(place) } ? Lease(place, self) : nil
    }

    /// Reads and checks an object; returns nil if it is about to be freed. Blocks.
    /// - Throws: `SystemError` with `.notFound` if its segment was removed, `BucketStoreError` with
    ///   `.damaged` if the bytes differ from those that were stored.
    func read(_ place: SegmentPlace) throws -> (bytes: ArraySlice<UInt8>, digest: SHA256Digest)? {
        guard let lease = lease(place) else { return nil }
        defer { withExtendedLifetime(lease) {} }
        let count = EntryFormat.headSize + Int(place.size)
        let entry = try FileDescriptor(path: path(of: place.number), .read).read(count, at: place.offset)
        guard let object = EntryFormat.object(entry, named: place.description) else {
            throw BucketStoreError(.damaged, "it differs from what was stored")
        }
        return object
    }

    private func endLease(_ place: SegmentPlace) {
        let actions = ledger.withLock { $0.endLease(place) }
        // This may run on a thread that must not block.
        if !actions.isEmpty { tidying.async { [self] in perform(actions) } }
    }

    // MARK: freeing

    /// Frees places that no record refers to, as soon as they are not being read. Blocks.
    func release(_ places: [SegmentPlace]) {
        perform(ledger.withLock { ledger in places.flatMap { ledger.release($0) } })
    }

    /// Performs the ledger's actions. Space that cannot be freed now is found when the store is
    /// recovered.
    private func perform(_ actions: [SegmentLedger.Action]) {
        for action in actions {
            switch action {
            case .remove(let number): remove(number)
            case .free(let place, let isLast):
                punch(place.blocks, of: place.number)
                if isLast { remove(place.number) }
                ledger.withLock { $0.hasFreed(place) }
            }
        }
    }

    private func punch(_ span: Range<Int64>, of number: Int) {
        guard punches.load(ordering: .relaxed), let file = try? FileDescriptor(path: path(of: number), .readWrite)
        else { return }
        if (try? file.punchHole(at: span.lowerBound, count: span.length)) == false {
            punches.store(false, ordering: .relaxed)
        }
    }

    /// Returns the segments whose space is freed only once their objects are moved; see
    /// `SegmentLedger.sparse`. Blocks.
    func sparse() -> [[Int]] {
        var sizes: [Int: Int64] = [:]
        for number in ledger.withLock(\.sealed) {
            guard let size = try? FileDescriptor(path: path(of: number), .read).status().size else { continue }
            // Find out whether the file system can punch holes, by punching one after the end of
            // the segment, which loses nothing.
            if sizes.isEmpty { punch(size..<size + EntryFormat.block, of: number) }
            if punches.load(ordering: .relaxed) { return [] }
            sizes[number] = size
        }
        return ledger.withLock { $0.sparse(sizes) }
    }

    private func remove(_ number: Int) {
        let path = path(of: number)
        // A wrong sum in the ledger must not cost an object.
        if punches.load(ordering: .relaxed), let file = try? FileDescriptor(path: path, .read),
            (try? file.hasData(from: EntryFormat.block)) == true
        {
            return
        }
        _ = try? FileSystem.remove(path)
    }

    private func path(of number: Int) -> String { "\(directory)/\(SegmentPlace.path(of: number))" }

    /// Waits until the places whose last reader has finished are freed.
    func settle() async { try? await tidying.run {} }

    /// Ends writing, and returns the state that the next open needs; nil if the next open must
    /// examine all records. Nothing may be written afterwards. Blocks.
    func close() -> SegmentState? {
        let (current, next, nextNumber) = writing.withLock { writing in
            writing.isClosed = true
            return (writing.current.take(), writing.next.take(), writing.nextNumber)
        }
        if let current { perform(ledger.withLock { $0.seal(current.number) }) }
        if let next { remove(next.number) }
        return ledger.withLock { $0.isSettled ? SegmentState(nextNumber: nextNumber, live: $0.live) : nil }
    }
}
