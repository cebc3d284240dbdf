/// Decides when places of segments are freed: once no record refers to them and they are not being
/// read.
struct SegmentLedger: Sendable, Equatable {
    enum Action: Hashable, Sendable {
        /// Free the place's blocks, and remove the whole segment if `isLast`; then call `hasFreed`.
        case free(SegmentPlace, isLast: Bool)
        /// Remove a segment that holds no objects.
        case remove(Int)
    }

    private struct Segment: Equatable {
        /// The bytes of the blocks in use.
        var live: Int64 = 0
        var isSealed = false
    }

    private var segments: [Int: Segment] = [:]
    /// The number of leases of each place that is being read.
    private var readers: [SegmentPlace: Int] = [:]
    /// The places without a record whose blocks are not freed yet.
    private var leaving: Set<SegmentPlace> = []

    init() {}

    /// Creates the ledger of a store that was opened.
    ///
    /// - Parameter live: The bytes in use of each segment, all of which are sealed.
    init(live: [Int: Int64]) { segments = live.mapValues { Segment(live: $0, isSealed: true) } }

    /// The bytes in use of each segment.
    var live: [Int: Int64] { segments.mapValues(\.live) }

    /// The segments that are no longer written.
    var sealed: [Int] { segments.filter(\.value.isSealed).map(\.key) }

    /// Whether every released place is freed.
    var isSettled: Bool { leaving.isEmpty }

    /// Returns the segments that are worth compacting if space is freed only with a whole segment:
    /// sealed segments of which at most half is in use, the emptiest first, in portions.
    ///
    /// - Parameters:
    ///   - sizes: The sizes of the segments' files in bytes.
    ///   - portion: The maximum number of bytes in use of the segments of a portion, unless it is a
    ///     single segment.
    func sparse(_ sizes: [Int: Int64], portion: Int64 = 64 << 20) -> [[Int]] {
        let sparse = segments.filter { number, segment in
            segment.isSealed && segment.live <= ((sizes[number] ?? 0) - EntryFormat.block) / 2
        }
        var (portions, room): ([[Int]], Int64) = ([], 0)
        for (number, segment) in sparse.sorted(by: { ($0.value.live, $0.key) < ($1.value.live, $1.key) }) {
            if portions.isEmpty || segment.live > room {
                portions.append([])
                room = portion
            }
            portions[portions.endIndex - 1].append(number)
            room -= segment.live
        }
        return portions
    }

    /// Adds a new segment.
    mutating func begin(_ number: Int) { segments[number] = Segment() }

    /// Records that an object is about to be written to a place.
    mutating func take(_ place: SegmentPlace) { segments[place.number]?.live += place.blocks.length }

    /// Seals a segment, to which nothing will be written any more.
    mutating func seal(_ number: Int) -> [Action] {
        segments[number]?.isSealed = true
        guard segments[number]?.live == 0 else { return [] }
        segments[number] = nil
        return [.remove(number)]
    }

    /// Releases a place, because no record refers to it any more.
    mutating func release(_ place: SegmentPlace) -> [Action] {
        guard leaving.insert(place).inserted, readers[place] == nil else { return [] }
        return [leave(place)]
    }

    /// Adds a reader of a place. Returns false if the place is about to be freed. End each lease
    /// once.
    mutating func lease(_ place: SegmentPlace) -> Bool {
        guard !leaving.contains(place) else { return false }
        readers[place, default: 0] += 1
        return true
    }

    /// Removes a reader of the place.
    mutating func endLease(_ place: SegmentPlace) -> [Action] {
        guard let count = readers[place] else { return [] }
        readers[place] = count > 1 ? count - 1 : nil
        return count == 1 && leaving.contains(place) ? [leave(place)] : []
    }

    /// Records that the place's blocks are freed.
    mutating func hasFreed(_ place: SegmentPlace) { leaving.remove(place) }

    private mutating func leave(_ place: SegmentPlace) -> Action {
        segments[place.number]?.live -= place.blocks.length
        let isLast = segments[place.number].map { $0.isSealed && $0.live <= 0 } ?? false
        if isLast { segments[place.number] = nil }
        return .free(place, isLast: isLast)
    }
}

extension Range<Int64> {
    /// The number of values in the range.
    var length: Int64 { upperBound - lowerBound }
}
