import DocumentModel
import TaskModel

/// A request for a name.
struct NameRequest: Equatable {
    /// The list in whose directory the name is; nil for the root. Names in other directories do not
    /// matter.
    var place: ListID?
    var title: String
    /// The server's time of the requester's creation; nil if it was not sent yet.
    var time: Timestamp?
    /// Whether the title itself is a possible file name, so that none has to be derived from
    /// it.
    var isExact = true

    static func == (left: Self, right: Self) -> Bool {
        left.time == right.time && left.place == right.place && UTF8Order.areEqual(left.title, right.title)
    }

    /// Returns the numbers to try in a search for a free name. The range is bounded, because a
    /// search in which every name seems taken has failed for another reason.
    static func numbers(from first: Int) -> Range<Int> { first..<(max(first, 1) + 100_000) }
}

/// Decides which of the requesters of one name in one place gets it. A requester whose title is
/// exactly the name comes before one whose name was derived from its title, and then the one comes
/// first that the server has known longest. The first requester gets the name itself, the next ones
/// `Name (2)`, `Name (3)` and so on. Names follow from the documents alone, so that every machine
/// allocates the same. Pure.
struct NameAllocator<ID: TypedID> {
    /// A name, compared by bytes: names that differ only in their Unicode form are two.
    private struct Name: Hashable {
        let place: ListID?
        let text: String

        static func == (left: Self, right: Self) -> Bool {
            left.place == right.place && UTF8Order.areEqual(left.text, right.text)
        }

        func hash(into hasher: inout Hasher) {
            UTF8Order.hash(text, into: &hasher)
            hasher.combine(place)
        }

        /// Whether this may be the numbered form of another name.
        var mayBeNumbered: Bool { text.utf8.contains(UInt8(ascii: ")")) }
    }

    /// Returns the name for a title and a number from 1.
    private let name: (String, Int) -> String
    private var requests: [ID: NameRequest] = [:]
    /// The requesters of each name, in the order of their rank.
    private var requesters: [Name: [ID]] = [:]
    /// The names that several requesters share.
    private var shared: Set<Name> = []

    init(name: @escaping (_ title: String, _ number: Int) -> String) {
        self.name = name
    }

    func request(of id: ID) -> NameRequest? { requests[id] }

    /// Sets or removes the request of a requester.
    ///
    /// - Returns: The requesters whose numbers may have changed.
    mutating func set(_ id: ID, _ request: NameRequest?) -> Set<ID> {
        let old = request.map { requests.updateValue($0, forKey: id) } ?? requests.removeValue(forKey: id)
        guard old != request else { return [] }
        var affected: Set<ID> = []
        if let old {
            let key = key(old, 1)
            requesters[key]?.removeAll { $0 == id }
            if requesters[key]?.isEmpty == true { requesters[key] = nil }
            affected.formUnion(neighbors(of: key))
            if (requesters[key]?.count ?? 0) < 2 { shared.remove(key) }
        }
        if let request {
            let key = key(request, 1)
            let others = requesters.updateValue([id], forKey: key) ?? []
            if !others.isEmpty {
                var all = others
                all.insert(id, at: others.firstIndex { precedes(id, $0) } ?? others.count)
                requesters[key] = all
                shared.insert(key)
            }
            if !others.isEmpty || key.mayBeNumbered { affected.formUnion(neighbors(of: key)) }
        }
        affected.remove(id)
        return affected
    }

    /// Returns the number of a requester; 1 stands for the name itself.
    func number(of id: ID) -> Int {
        guard let request = requests[id], let others = requesters[key(request, 1)], others.first != id else { return 1 }
        var number = 1
        for other in others.dropFirst() {
            // Another requester may have the numbered form as its title.
            repeat { number += 1 } while requesters[key(request, number)] != nil
            if other == id { break }
        }
        return number
    }

    /// Returns the requester that gets this name without a number; nil if there is none.
    func owner(of name: String, in place: ListID? = nil) -> ID? { requesters[Name(place: place, text: name)]?.first }

    private func precedes(_ a: ID, _ b: ID) -> Bool {
        func right(_ id: ID) -> (Int, Int64, ID) {
            let request = requests[id]
            return (request?.isExact == false ? 1 : 0, request?.time?.microseconds ?? .max, id)
        }
        return right(a) < right(b)
    }

    private func key(_ request: NameRequest, _ number: Int) -> Name {
        Name(place: request.place, text: name(request.title, number))
    }

    /// Returns the requesters of a name and those that may have it as a numbered form: for `Name
    /// (2)` those of `Name`.
    private func neighbors(of key: Name) -> [ID] {
        var found = requesters[key] ?? []
        guard key.mayBeNumbered else { return found }
        for name in shared where name.place == key.place && name != key {
            guard let others = requesters[name], let first = others.first, let request = requests[first] else {
                continue
            }
            if (2...others.count + 1).contains(where: { self.key(request, $0) == key }) { found += others }
        }
        return found
    }
}
