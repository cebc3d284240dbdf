/// Orders renames and new files so that each location is vacant when its file comes.
///
/// A chain of renames is done from its end. In a cycle one file first moves aside, to a numbered
/// name like any other: should the plan be cut off then, the next one finds an ordinary file that
/// has another name than it should.
struct MoveOrder {
    /// One file that moves, or that is created.
    struct Move {
        let node: NodeID
        /// The present location; `nil` for a file that is created.
        let from: Location?
        let to: Location
    }

    /// One step of the order, by the move's index.
    enum Step: Hashable {
        case move(Int)
        case aside(Int, to: Location)
    }

    private let moves: [Move]
    private let isFree: (Location) -> Bool
    /// The number of steps that each move has to await.
    private var awaited: [Int]
    /// The moves that await that another one leaves its location.
    private var awaitingLocation: [Int: [Int]] = [:]
    /// The moves that await a directory that another one creates.
    private var awaitingDirectory: [Int: [Int]] = [:]
    private var ready: [Int] = []
    private var steps: [Step] = []
    private var isDone: [Bool]
    private var asides = Set<Location>()

    /// - Parameter isFree: whether a location is vacant before, during, and after the moves.
    private init(_ moves: [Move], isFree: @escaping (Location) -> Bool) {
        self.moves = moves
        self.isFree = isFree
        awaited = Array(repeating: 0, count: moves.count)
        isDone = Array(repeating: false, count: moves.count)
        var leaving: [Location: Int] = [:]
        var created: [NodeID: Int] = [:]
        for (index, move) in moves.enumerated() {
            if let from = move.from { leaving[from] = index } else { created[move.node] = index }
        }
        for (index, move) in moves.enumerated() {
            if let other = leaving[move.to], other != index {
                awaitingLocation[other, default: []].append(index)
                awaited[index] += 1
            }
            if let directory = move.to.directory, let other = created[directory] {
                awaitingDirectory[other, default: []].append(index)
                awaited[index] += 1
            }
        }
        ready = moves.indices.filter { awaited[$0] == 0 }.reversed()
    }

    /// Returns the steps. Moves that form a circle of directories within each other are left out.
    static func steps(_ moves: [Move], isFree: @escaping (Location) -> Bool) -> [Step] {
        var order = MoveOrder(moves, isFree: isFree)
        order.run()
        return order.steps
    }

    private mutating func run() {
        var next = moves.startIndex
        while true {
            while let index = ready.popLast() { finish(index) }
            // What is left forms cycles: its first file that is in the way of another moves aside.
            while next < moves.endIndex, isDone[next] || awaitingLocation[next] == nil { next += 1 }
            guard next < moves.endIndex else { return }
            if let location = asideLocation(for: moves[next]) { steps.append(.aside(next, to: location)) }
            release(awaitingLocation.removeValue(forKey: next) ?? [])
        }
    }

    private mutating func finish(_ index: Int) {
        isDone[index] = true
        steps.append(.move(index))
        release(awaitingLocation.removeValue(forKey: index) ?? [])
        release(awaitingDirectory.removeValue(forKey: index) ?? [])
    }

    private mutating func release(_ indexes: [Int]) {
        for index in indexes.reversed() {
            awaited[index] -= 1
            if awaited[index] == 0 { ready.append(index) }
        }
    }

    private mutating func asideLocation(for move: Move) -> Location? {
        guard let from = move.from else { return nil }
        let kind = move.node.kind
        let name = NodeName.wanted(of: kind, by: from.fileName)
        for number in 2..<NameAllocation.limit {
            let location = Location(from.directory, NodeName.fileName(of: kind, for: name, number: number))
            if isFree(location), asides.insert(location).inserted { return location }
        }
        return nil
    }
}
