/// Which places of the segments are in use, by whom, and what to do once they are not.
struct SegmentLedger: Sendable, Equatable {
    enum Action: Hashable, Sendable {
        /// Give the place's blocks back, and the whole segment where `isLast`; `hasGivenBack` is to be told.
        case giveBack(SegmentPlace, isLast: Bool)
        /// Remove a segment in which nothing lies.
        case remove(Int)
    }

    private struct Segment: Equatable {
        /// Bytes of the blocks that are in use.
        var live: Int64 = 0
        var isSealed = false
    }

    private var segments: [Int: Segment] = [:]
    /// Only places that somebody reads.
    private var readers: [SegmentPlace: Int] = [:]
    /// Places that no record refers to any more, until their blocks are given back.
    private var leaving: Set<SegmentPlace> = []

    init() {}

    /// - Parameter live: bytes in use of each segment, all of which are sealed.
    init(live: [Int: Int64]) { segments = live.mapValues { Segment(live: $0, isSealed: true) } }

    /// Bytes in use of each segment.
    var live: [Int: Int64] { segments.mapValues(\.live) }

    /// Segments that are not written any more.
    var sealed: [Int] { segments.filter(\.value.isSealed).map(\.key) }

    /// Whether every place that was let go is given back.
    var isSettled: Bool { leaving.isEmpty }

    /// What is worth emptying where space comes back only with a whole segment: sealed segments at most half of which is in use,
    /// those in which the least is left first.
    ///
    /// - Parameter sizes: of the segments' files.
    /// - Parameter portion: bytes in use of the segments that are named together, at most, unless it is one.
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

    mutating func begin(_ number: Int) { segments[number] = Segment() }

    mutating func take(_ place: SegmentPlace) { segments[place.number]?.live += place.blocks.length }

    /// Nothing is written into the segment any more.
    mutating func seal(_ number: Int) -> [Action] {
        segments[number]?.isSealed = true
        guard segments[number]?.live == 0 else { return [] }
        segments[number] = nil
        return [.remove(number)]
    }

    /// No record refers to the place any more.
    mutating func release(_ place: SegmentPlace) -> [Action] {
        guard leaving.insert(place).inserted, readers[place] == nil else { return [] }
        return [leave(place)]
    }

    /// False where the place is about to be given back. Whoever has a lease ends it.
    mutating func lease(_ place: SegmentPlace) -> Bool {
        guard !leaving.contains(place) else { return false }
        readers[place, default: 0] += 1
        return true
    }

    mutating func endLease(_ place: SegmentPlace) -> [Action] {
        guard let count = readers[place] else { return [] }
        readers[place] = count > 1 ? count - 1 : nil
        return count == 1 && leaving.contains(place) ? [leave(place)] : []
    }

    mutating func hasGivenBack(_ place: SegmentPlace) { leaving.remove(place) }

    private mutating func leave(_ place: SegmentPlace) -> Action {
        segments[place.number]?.live -= place.blocks.length
        let isLast = segments[place.number].map { $0.isSealed && $0.live <= 0 } ?? false
        if isLast { segments[place.number] = nil }
        return .giveBack(place, isLast: isLast)
    }
}

extension Range<Int64> {
    var length: Int64 { upperBound - lowerBound }
}
