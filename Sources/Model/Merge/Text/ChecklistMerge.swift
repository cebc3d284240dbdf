/// Merges the lines of a checklist that both sides changed at one place.
///
/// The items are merged as a set in order: an item that one side added is added, one that a side
/// removed is removed, and a mark that one side changed is changed. Items that both sides added after
/// the same item are both kept. The result does not depend on which side is `mine`.
struct ChecklistMerge {
    private(set) var lines: [Line] = []
    /// Whether a mark was changed differently, or a side changed an item that the other one removed.
    private(set) var hasConflict = false

    /// Merges; nil if the lines are not all items, if one side has an item twice or in another
    /// order, or if both sides replaced one item.
    init?(base: ArraySlice<Line>, mine: ArraySlice<Line>, theirs: ArraySlice<Line>) {
        guard
            [base, mine, theirs].allSatisfy({ side in
                side.allSatisfy { $0.mark != nil } && Set(side.map(\.text)).count == side.count
            })
        else { return nil }
        let places = Dictionary(uniqueKeysWithValues: base.enumerated().map { ($1.text, $0) })
        guard let mine = Side(mine, places), let theirs = Side(theirs, places) else { return nil }
        let isReplaced = base.indices.contains { index in
            let place = index - base.startIndex
            return mine.kept[place] == nil && theirs.kept[place] == nil
        }
        if isReplaced, !mine.added.isEmpty, !theirs.added.isEmpty { return nil }
        append(mine.added[-1], theirs.added[-1])
        for (place, old) in base.enumerated() {
            switch (mine.kept[place], theirs.kept[place]) {
            case (let my?, let their?):
                lines.append(my.merged(with: their, base: old, &hasConflict))
            case (let line?, nil), (nil, let line?):
                if line.mark != old.mark { hasConflict = true }
            case (nil, nil): break
            }
            append(mine.added[place], theirs.added[place])
        }
        // An item that one side moved and the other one changed would be there twice.
        guard Set(lines.map(\.text)).count == lines.count else { return nil }
    }

    private mutating func append(_ mine: [Line]?, _ theirs: [Line]?) {
        let (mine, theirs) = (mine ?? [], theirs ?? [])
        let (known, wanted) = (Set(theirs.map(\.text)), Set(mine.map(\.text)))
        if known.isSubset(of: wanted) { return lines += mine }
        if wanted.isSubset(of: known) { return lines += theirs }
        let isMineFirst = mine.map(\.order).lexicographicallyPrecedes(theirs.map(\.order)) {
            $0.lexicographicallyPrecedes($1)
        }
        let (first, second) = isMineFirst ? (mine, theirs) : (theirs, mine)
        let there = Set(first.map(\.text))
        lines += first + second.filter { !there.contains($0.text) }
    }

    /// One side's items: those of the base, and those that follow each of them.
    private struct Side {
        var kept: [Int: Line] = [:]
        /// The items that this side added, by the place of the item of the base before them; −1 at
        /// the start.
        var added: [Int: [Line]] = [:]

        init?(_ lines: ArraySlice<Line>, _ places: [Int: Int]) {
            var last = -1
            for line in lines {
                guard let place = places[line.text] else {
                    added[last, default: []].append(line)
                    continue
                }
                guard place > last else { return nil }
                kept[place] = line
                last = place
            }
        }
    }
}
