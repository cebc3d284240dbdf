import Cryptography
import Glibc
import Synchronization

/// Hashes the chunks of all transfers side by side, which takes less of the processors than one after the other.
///
/// Whoever comes while few hash, or while those who do have no room, hashes at once, and for all who come meanwhile. When his own
/// chunk is done, one of them goes on. So this needs no threads, and who is alone waits for nobody.
final class SharedHashing: Sendable {
    static let shared = SharedHashing(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// What becomes of who wants something hashed.
    private enum Turn: Sendable {
        case done(Hashes)
        /// Hash for all at the bench, until the own chunk is done.
        case leads(Bench)
    }

    private typealias Hashes = (whole: SHA256, part: SHA256?)
    private typealias Owner = CheckedContinuation<Turn, Never>

    private struct Work: Sendable {
        var hashes: Hashes
        let object: [UInt8]
        let start: Int
        let owner: Owner
        /// Messages that have not ended.
        var left: Int

        /// Messages side by side.
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
        var benches = 0
        /// How many messages they have room for, beside those that wait.
        var room = 0

        mutating func open() {
            benches += 1
            room += SHA256Lanes.count
        }

        mutating func close() {
            benches -= 1
            room -= SHA256Lanes.count
        }
    }

    /// With fewer benches nobody waits for a place: the other half of the processors is left to what is done beside.
    private let leastBenches: Int
    private let state = Mutex(State())

    init(processors: Int) { leastBenches = max(1, processors / 2) }

    /// The hashes after both took the bytes of `object` from `start` on. Computes, maybe for others too; is not cancelled.
    ///
    /// - Parameter part: another hash that takes the same bytes.
    func update(
        _ whole: SHA256, _ part: SHA256? = nil, with object: [UInt8], from start: Int
    ) async -> (whole: SHA256, part: SHA256?) {
        let turn = await withCheckedContinuation { owner in
            let work = Work(
                hashes: (whole, part), object: object, start: start, owner: owner, left: part == nil ? 1 : 2)
            let leads = state.withLock { state in
                let leads = state.room < work.width || state.benches < leastBenches
                if leads { state.open() } else { state.waiting.append(work) }
                state.room -= work.width
                return leads
            }
            if leads { owner.resume(returning: .leads(Bench(work))) }
        }
        switch turn {
        case .done(let hashes): return hashes
        case .leads(let bench): return lead(bench)
        }
    }

    /// Takes the content of an object that holds a chunk raw into the hash of the whole; answers the chunk's id.
    func addChunk(_ object: [UInt8], to whole: inout SHA256) async -> ContentHash {
        var head = SHA256()
        head.update(object.prefix(ChunkHeader.byteCount))
        let hashes = await update(whole, head, with: object, from: ChunkHeader.byteCount)
        whole = hashes.whole
        var part = hashes.part ?? head
        return ContentHash(part.finish())
    }

    private func lead(_ bench: Bench) -> Hashes {
        while true {
            let ended = bench.step()
            let isEmpty = state.withLock { state in
                state.room += ended.others.reduce(ended.own?.width ?? 0) { $0 + $1.width }
                while let next = state.waiting.first, bench.takes(next) { state.waiting.removeFirst() }
                if bench.isEmpty { state.close() }
                return bench.isEmpty
            }
            for other in ended.others { other.owner.resume(returning: .done(other.hashes)) }
            guard let own = ended.own else { continue }
            if !isEmpty { bench.handOver()?.resume(returning: .leads(bench)) }
            return own.hashes
        }
    }

    /// Chunks that are hashed side by side, by one of those who want them hashed.
    ///
    /// `@unchecked Sendable`: used by the one who leads.
    private final class Bench: @unchecked Sendable {
        private var lanes = SHA256Lanes()
        private var works: [Int: Work] = [:]
        /// Of the one who leads.
        private var own = 0
        private var count = 0

        init(_ own: Work) { _ = takes(own) }

        var isEmpty: Bool { works.isEmpty }

        /// False where there is no room.
        func takes(_ work: Work) -> Bool {
            guard lanes.room >= work.width else { return false }
            // The storage of an array that nobody changes stays in its place.
            let bytes = work.object.withUnsafeBufferPointer { UnsafeBufferPointer(rebasing: $0[work.start...]) }
            lanes.begin(2 * count, work.hashes.whole, bytes)
            if let part = work.hashes.part { lanes.begin(2 * count + 1, part, bytes) }
            works[count] = work
            count += 1
            return true
        }

        /// Hashes a little of each. Lets go of the bytes of what has ended, whose owners may have a use for the memory.
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

        /// The oldest of those who wait leads from now on.
        func handOver() -> Owner? {
            guard let (number, work) = works.min(by: { $0.key < $1.key }) else { return nil }
            own = number
            return work.owner
        }
    }
}
