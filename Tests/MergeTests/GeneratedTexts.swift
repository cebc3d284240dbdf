/// Generated bases with two edits each. Few lines are different, so that repeats and overlaps are
/// frequent.
struct GeneratedTexts {
    private var random: SeededGenerator
    private let words: Int

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        // Some bases have hardly any repeated lines, others have many.
        words = [200, 30, 12, 6][Int(seed % 4)]
    }

    mutating func triple() -> (base: String, mine: String, theirs: String) {
        let base = (0..<Int.random(in: 0...20, using: &random)).map { _ in line() }
        let (mine, theirs) = (edit(base), edit(base))
        return (text(base), text(mine), text(theirs))
    }

    private mutating func line() -> String { "l\(Int.random(in: 0..<words, using: &random))" }

    private mutating func edit(_ base: [String]) -> [String] {
        var lines = base
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let place = Int.random(in: 0...lines.count, using: &random)
            let count = min(Int.random(in: 1...3, using: &random), lines.count - place)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: lines.replaceSubrange(place..<(place + count), with: (0..<count).map { _ in line() })
            case 1: lines.removeSubrange(place..<(place + count))
            case 2: lines.insert(contentsOf: (0..<2).map { _ in line() }, at: place)
            default:
                let moved = Array(lines[place..<(place + count)])
                lines.removeSubrange(place..<(place + count))
                lines.insert(contentsOf: moved, at: Int.random(in: 0...lines.count, using: &random))
            }
        }
        return lines
    }

    private func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
}
