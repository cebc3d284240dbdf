import DocumentModel

/// Gives each node the location of its file.
///
/// Of several nodes that ask for one name in one directory, a node whose wanted name is exactly that
/// name comes before one of whose name it was made, and then the one that the server has had longest.
/// The first has the name, the next ones `Name (2)`, `Name (3)` and so on, without those for which
/// another node asks. This follows from the documents alone, so all machines choose the same names.
/// Only a file that belongs to no node can make a machine choose another one.
enum NameAllocation {
    /// The largest number that is tried. Unless 100,000 nodes ask for one name, a search ends long
    /// before.
    static let limit = 100_000

    /// A node that asks for a location.
    private struct Request {
        let index: Int
        let directory: NodeID?
        let plain: Location
        let isExact: Bool
        let created: Timestamp?

        func precedes(_ other: Request, in draft: PlanDraft) -> Bool {
            if isExact != other.isExact { return isExact }
            switch (created, other.created) {
            case (let a?, let b?) where a != b: return a < b
            case (_?, nil): return true
            case (nil, _?): return false
            default: return draft.nodes[index].id < draft.nodes[other.index].id
            }
        }
    }

    static func apply(to draft: inout PlanDraft) {
        var taken = Set<Location>()
        var requests: [Request] = []
        for index in draft.nodes.indices {
            if draft.nodes[index].target != nil, let request = request(of: index, &draft) { requests.append(request) }
            if draft.nodes[index].awaitsDirectory, let location = draft.nodes[index].file?.location {
                draft.nodes[index].location = location
                taken.insert(location)
            }
            guard draft.nodes[index].resolution == .wait else { continue }
            let node = draft.nodes[index]
            draft.nodes[index].location = node.file?.location
            if let location = node.file?.location ?? (node.localChange == .unknown ? node.synced?.location : nil) {
                taken.insert(location)
            }
        }
        requests.sort { $0.precedes($1, in: draft) }
        let groups = Dictionary(grouping: requests, by: \.plain)
        for request in requests
        where draft.nodes[request.index].resolution != .wait && !draft.nodes[request.index].awaitsDirectory {
            let number = number(of: request, groups, draft)
            let location = location(for: request, number, &draft, taken)
            draft.nodes[request.index].location = location
            if let location { taken.insert(location) }
        }
    }

    /// Returns what a node asks for; `nil` if it has to wait for its directory.
    private static func request(of index: Int, _ draft: inout PlanDraft) -> Request? {
        let node = draft.nodes[index]
        // A node of which only an earlier state is known has no right to a name, but keeps its file's.
        guard let target = node.target, node.remote.document != nil || node.resolution != .wait else { return nil }
        var directory = target.parent
        if let parent = target.parent {
            switch presence(of: parent, draft) {
            case .present: break
            case .absent where node.id.kind != .attachment: directory = nil
            case .absent:
                if node.resolution != .wait { draft.nodes[index].wait(for: .notReported) }
            case .awaited(let reason):
                if node.resolution != .wait, node.file?.location.directory != parent {
                    draft.nodes[index].waitForDirectory(reason)
                }
            }
        }
        let name = NodeName.fileName(of: node.id.kind, for: target.name)
        return Request(
            index: index, directory: directory, plain: Location(directory, name),
            isExact: NodeName.isExact(target.name, node.id.kind), created: node.remote.document?.created)
    }

    /// Whether a list or task has a directory once the plan is done.
    private enum Presence {
        case present
        case absent
        /// It has none yet, for this reason.
        case awaited(Reason)
    }

    private static func presence(of id: NodeID, _ draft: PlanDraft) -> Presence {
        guard let index = draft.index(of: id) else { return draft.trees.local[id].file == nil ? .absent : .present }
        if draft.nodes[index].isGoing { return .absent }
        guard draft.nodes[index].resolution == .wait, draft.nodes[index].file == nil else { return .present }
        return .awaited(draft.nodes[index].reason ?? .notReported)
    }

    private static func number(of request: Request, _ groups: [Location: [Request]], _ draft: PlanDraft) -> Int {
        guard let group = groups[request.plain], group.first?.index != request.index,
            let target = draft.nodes[request.index].target
        else { return 1 }
        let kind = draft.nodes[request.index].id.kind
        var number = 1
        for other in group.dropFirst() {
            repeat {
                number += 1
            } while number < limit
                && groups[
                    Location(request.directory, NodeName.fileName(of: kind, for: target.name, number: number))] != nil
            if other.index == request.index { break }
        }
        return number
    }

    /// Returns the first free location from a number on.
    private static func location(
        for request: Request, _ first: Int, _ draft: inout PlanDraft, _ taken: Set<Location>
    ) -> Location? {
        let node = draft.nodes[request.index]
        guard let target = node.target else { return nil }
        // A name that a user gave to a file stays, even if other machines have to make another of it.
        if first == 1, let own = node.file?.location, own.directory == request.directory,
            NodeName.wanted(of: node.id.kind, by: own.fileName) == target.name, !taken.contains(own)
        {
            return own
        }
        for number in first..<max(first + 1, limit) {
            let name = NodeName.fileName(of: node.id.kind, for: target.name, number: number)
            let location = Location(request.directory, name)
            if isFree(location, for: node, draft, taken) {
                if number > first { draft.nodes[request.index].reason = .nameTaken(request.plain.fileName) }
                return location
            }
        }
        return node.file?.location
    }

    /// Whether a location is vacant once the plan is done.
    private static func isFree(
        _ location: Location, for node: NodePlan, _ draft: PlanDraft, _ taken: Set<Location>
    ) -> Bool {
        if taken.contains(location) || draft.trees.local.foreign.contains(location) { return false }
        guard let occupant = draft.trees.local.occupants[location], occupant != node.id else { return true }
        // Another node of the plan goes, or gets a location of its own.
        return draft.index(of: occupant) != nil
    }
}
