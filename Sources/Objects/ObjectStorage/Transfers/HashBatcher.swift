import Cryptography
import Glibc
import Synchronization

/// Hashes the chunks of all transfers in parallel lanes of one processor, which costs less time
/// than one after another.
///
/// A caller that arrives while few callers hash, or while their batches have no free lane, becomes
/// the leader of a new batch. It hashes its own chunk and those of callers that arrive later. When
/// its own chunk is done, another member of the batch leads. No extra threads are needed, and a
/// single caller never waits.
final class HashBatcher: Sendable {
    static let shared = HashBatcher(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The continuation of a call.
    private enum Turn: Sendable {
        case done(Hashes)
        /// Hash for all members of the batch until the own chunk is done.
        case leads(Batch)
    }

    private typealias Hashes = (whole: SHA256, part: SHA256?)
    private typealias Owner = CheckedContinuation<Turn, Never>

    private struct Work: Sendable {
        var hashes: Hashes
        let object: [UInt8]
        let start: Int
        let owner: Owner
        /// The number of messages that have not ended.
        var left: Int

        /// The number of lanes that the work needs.
        var width: Int { hashes.part == nil ? 1 : 2 }

        var ended: Ended? { left == 0 ? Ended(hashes: hashes, owner: owner, width: width) : nil }
    }

    private struct Ended {
        let hashes: Hashes
        let owner: Owner
        let width: Int
    }

    private struct State {
        var waiting: [Work] = []
        var batches = 0
        /// The number of free lanes in all batches, minus those that waiting works need.
        var room = 0

        mutating func open() {
            batches += 1
            room += SHA256Lanes.count
        }

        mutating func close() {
            batches -= 1
            room -= SHA256Lanes.count
        }
    }

    /// The number of batches below which no caller waits for a lane. It is half of the processors;
    /// the other half is left for other work.
    private let minimumBatches: Int
    private let state = Mutex(State())

    init(processors: Int) { minimumBatches = max(1, processors / 2) }

    /// Adds the bytes of `object` from `start` on to one or two hashes and returns both. It may
    /// compute hashes for other callers meanwhile. It is not cancelled.
    ///
    /// - Parameter part: A second hash of the same bytes.
    func update(
        _ whole: SHA256, _ part: SHA256? = nil, with object: [UInt8], from start: Int
    ) async -> (whole: SHA256, part: SHA256?) {
        let turn = await withCheckedContinuation { owner in
            let work = Work(
                hashes: (whole, part), object: object, start: start, owner: owner, left: part == nil ? 1 : 2)
            let leads = state.withLock { state in
                let leads = state.room < work.width || state.batches < minimumBatches
                if leads { state.open() } else { state.waiting.append(work) }
                state.room -= work.width
                return leads
            }
            if leads { owner.resume(returning: .leads(Batch(work))) }
        }
        switch turn {
        case .done(let hashes): return hashes
        case .leads(let batch): return lead(batch)
        }
    }

    /// Adds the content of an object that holds a chunk raw to the hash of the whole. Returns the
    /// id of the chunk.
    func addChunk(_ object: [UInt8], to whole: inout SHA256) async -> ContentHash {
        var head = SHA256()
        head.update(object.prefix(ChunkHeader.byteCount))
        let hashes = await update(whole, head, with: object, from: ChunkHeader.byteCount)
        whole = hashes.whole
        var part = hashes.part ?? head
        return ContentHash(part.finish())
    }

    private func lead(_ batch: Batch) -> Hashes {
        while true {
            let ended = batch.step()
            let isEmpty = state.withLock { state in
                state.room += ended.others.reduce(ended.own?.width ?? 0) { $0 + $1.width }
                while let next = state.waiting.first, batch.takes(next) { state.waiting.removeFirst() }
                if batch.isEmpty { state.close() }
                return batch.isEmpty
            }
            for other in ended.others { other.owner.resume(returning: .done(other.hashes)) }
            guard let own = ended.own else { continue }
            if !isEmpty { batch.handOver()?.resume(returning: .leads(batch)) }
            return own.hashes
        }
    }

    /// Chunks that are hashed in parallel lanes by one of the callers, the leader.
    ///
    /// `@unchecked Sendable`: only the leader uses it.
    private final class Batch: @unchecked Sendable {
        private var lanes = SHA256Lanes()
        private var works: [Int: Work] = [:]
        /// The number of the leader's work.
        private var own = 0
        private var count = 0

        init(_ own: Work) { _ = takes(own) }

        var isEmpty: Bool { works.isEmpty }

        /// Adds a work; false if too few lanes are free.
        func takes(_ work: Work) -> Bool {
            guard lanes.room >= work.width else { return false }
            // The storage of an array that is not mutated does not move.
            let bytes = work.object.withUnsafeBufferPointer { UnsafeBufferPointer(rebasing: $0[work.start...]) }
            lanes.begin(2 * count, work.hashes.whole, bytes)
            if let part = work.hashes.part { lanes.begin(2 * count + 1, part, bytes) }
            works[count] = work
            count += 1
            return true
        }

        /// Hashes some bytes of each chunk. Releases the chunks that are done, so that their owners
        /// can reuse the memory.
        func step() -> (own: Ended?, others: [Ended]) {
            var (mine, others): (Ended?, [Ended]) = (nil, [])
            for (lane, hash) in lanes.step() {
                let number = lane / 2
                if lane % 2 == 0 { works[number]?.hashes.whole = hash } else { works[number]?.hashes.part = hash }
                works[number]?.left -= 1
                guard let ended = works[number]?.ended else { continue }
                works[number] = nil
                if number == own { mine = ended } else { others.append(ended) }
            }
            return (mine, others)
        }

        /// Makes the oldest remaining work the leader and returns its owner.
        func handOver() -> Owner? {
            guard let (number, work) = works.min(by: { $0.key < $1.key }) else { return nil }
            own = number
            return work.owner
        }
    }
}
