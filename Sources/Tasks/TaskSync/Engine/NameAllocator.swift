import DocumentModel

/// Which of those that want the same name in the same place gets which: one whose title is exactly
/// the name comes before one of whose title the name was made, and then the one that the remote
/// knows longest. The first has the name itself, the next ones `Name (2)`, `Name (3)` … Follows
/// from the documents alone, so that every machine comes to the same names. Pure.
struct NameAllocator {
    /// What somebody wants to be called.
    struct Claim: Equatable {
        /// Where: names in other places do not matter.
        var place: String
        var title: String
        /// When the remote first had it; nil while it has not.
        var time: Timestamp?
        /// Whether the title is a name that a file can have, and not one that has to be mapped to it.
        var isExact = true

        static func == (left: Self, right: Self) -> Bool {
            UTF8Order.areEqual(left.title, right.title) && UTF8Order.areEqual(left.place, right.place)
                && left.time == right.time
        }
    }

    /// Exact bytes: names that differ in Unicode form are two.
    private struct Name: Hashable {
        let place: String
        let text: String

        static func == (left: Self, right: Self) -> Bool {
            UTF8Order.areEqual(left.text, right.text) && UTF8Order.areEqual(left.place, right.place)
        }

        func hash(into hasher: inout Hasher) {
            UTF8Order.hash(text, into: &hasher)
            UTF8Order.hash(place, into: &hasher)
        }

        /// Whether it may be what `name` makes of a title and a number above 1.
        var mayBeNumbered: Bool { text.utf8.contains(UInt8(ascii: ")")) }
    }

    /// The numbers to try, in order, in the search for a free name. Bounded: a search in which every name seems taken
    /// has failed for another reason than names.
    static func numbers(from first: Int) -> Range<Int> { first..<(max(first, 1) + 100_000) }

    /// The name of a title and a number from 1.
    private let name: (String, Int) -> String
    private var claims: [String: Claim] = [:]
    /// Those that want a name, in the order of their right to it.
    private var claimants: [Name: [String]] = [:]
    /// The names that several want.
    private var shared: Set<Name> = []

    init(name: @escaping (_ title: String, _ number: Int) -> String) {
        self.name = name
    }

    func claim(of id: String) -> Claim? { claims[id] }

    /// Notes what `id` wants; nil: it is gone. Answers whose number may have become another by that.
    mutating func set(_ id: String, _ claim: Claim?) -> Set<String> {
        let old = claim.map { claims.updateValue($0, forKey: id) } ?? claims.removeValue(forKey: id)
        guard old != claim else { return [] }
        var affected: Set<String> = []
        if let old {
            let key = key(old, 1)
            claimants[key]?.removeAll { $0 == id }
            if claimants[key]?.isEmpty == true { claimants[key] = nil }
            affected.formUnion(neighbours(of: key))
            if (claimants[key]?.count ?? 0) < 2 { shared.remove(key) }
        }
        if let claim {
            let key = key(claim, 1)
            let others = claimants.updateValue([id], forKey: key) ?? []
            if !others.isEmpty {
                var all = others
                all.insert(id, at: others.firstIndex { precedes(id, $0) } ?? others.count)
                claimants[key] = all
                shared.insert(key)
            }
            if !others.isEmpty || key.mayBeNumbered { affected.formUnion(neighbours(of: key)) }
        }
        affected.remove(id)
        return affected
    }

    /// 1: the name itself.
    func number(of id: String) -> Int {
        guard let claim = claims[id], let others = claimants[key(claim, 1)], others.first != id else { return 1 }
        var number = 1
        for other in others.dropFirst() {
            // Somebody may be called just that.
            repeat { number += 1 } while claimants[key(claim, number)] != nil
            if other == id { break }
        }
        return number
    }

    /// Who is to have this name, without a number; nil where nobody wants it.
    func owner(of name: String, in place: String = "") -> String? { claimants[Name(place: place, text: name)]?.first }

    private func precedes(_ a: String, _ b: String) -> Bool {
        func right(_ id: String) -> (Int, Int64, String) {
            let claim = claims[id]
            return (claim?.isExact == false ? 1 : 0, claim?.time?.microseconds ?? .max, id)
        }
        return right(a) < right(b)
    }

    private func key(_ claim: Claim, _ number: Int) -> Name {
        Name(place: claim.place, text: name(claim.title, number))
    }

    /// Who wants this name, and those who share a name and would be called this as well: of `Name
    /// (2)` those that want `Name`.
    private func neighbours(of key: Name) -> [String] {
        var found = claimants[key] ?? []
        guard key.mayBeNumbered else { return found }
        for name in shared where name.place == key.place && name != key {
            guard let others = claimants[name], let first = others.first, let claim = claims[first] else { continue }
            if (2...others.count + 1).contains(where: { self.key(claim, $0) == key }) { found += others }
        }
        return found
    }
}
