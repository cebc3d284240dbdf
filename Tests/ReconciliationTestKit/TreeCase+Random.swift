import Reconciliation
import TaskModel

extension TreeCase {
    private static let names = ["A", "B", "A (2)", "a", "e\u{301}", "\u{E9}", "x/y", "C"]
    private static let lists = (0..<3).map { NodeID.list(ListID("L\($0)")) }
    private static let tasks = (0..<5).map { NodeID.task(TaskID("T\($0)")) }

    /// Draws a case. Equal seeds give equal cases.
    package static func random(seed: UInt64) -> TreeCase {
        var generator = SeededGenerator(seed: seed)
        var builder = Builder()
        for list in lists where generator.chance(70) { builder.add(list, &generator) }
        for task in tasks where generator.chance(75) { builder.add(task, &generator) }
        for number in 0..<3 where generator.chance(45) {
            guard case .task(let task) = generator.pick(tasks) else { continue }
            builder.add(.attachment(AttachmentID("F\(number)"), of: task), &generator)
        }
        if generator.chance(15) {
            let location = Location(nil, FileName(generator.pick(["A.md", "B.md", "A", "A (2).md"])))
            if !builder.taken.contains(location) { builder.foreign.append(location) }
        }
        return TreeCase(builder.nodes, foreign: builder.foreign)
    }

    private struct Builder {
        var nodes: [Node] = []
        var foreign: [Location] = []
        var taken = Set<Location>()
        var syncedTaken = Set<Location>()
        private var token = 10

        mutating func add(_ id: NodeID, _ generator: inout SeededGenerator) {
            let synced = generator.chance(75) ? syncedState(of: id, &generator) : nil
            var node = Node(id, local: .absent, remote: .absent)
            if let synced, let location = freeLocation(id.kind, synced.parent, synced.name, syncedTaken) {
                syncedTaken.insert(location)
                node.synced = synced
                node.syncedDirectory = location.directory
                node.syncedFile = location.fileName.string
            }
            node.remote = remote(of: id, node.synced, &generator)
            node.local = local(of: id, node, &generator)
            if case .file(let directory, let name, _) = node.local { taken.insert(Location(directory, FileName(name))) }
            nodes.append(node)
        }

        private mutating func syncedState(of id: NodeID, _ generator: inout SeededGenerator) -> State {
            State(parent(of: id, &generator) { $0.synced != nil }, generator.pick(names), fresh(&generator))
        }

        private mutating func fresh(_ generator: inout SeededGenerator) -> SampleContents {
            token += 4
            return SampleContents(
                token, notes: generator.chance(50) ? [token + 1] : [], tags: generator.chance(30) ? [token + 2] : [])
        }

        private func parent(
            of id: NodeID, _ generator: inout SeededGenerator, where isUsable: (Node) -> Bool
        ) -> NodeID? {
            switch id {
            case .attachment(_, let task): return .task(task)
            case .list:
                let above = nodes.filter { $0.id < id && $0.id.kind == .list && isUsable($0) }.map(\.id)
                return above.isEmpty || generator.chance(75) ? nil : generator.pick(above)
            case .task:
                let lists = nodes.filter { $0.id.kind == .list && isUsable($0) }.map(\.id)
                return lists.isEmpty || generator.chance(40) ? nil : generator.pick(lists)
            }
        }

        private mutating func changed(
            _ state: State, of id: NodeID, _ generator: inout SeededGenerator, where isUsable: (Node) -> Bool
        ) -> State {
            var state = state
            if generator.chance(40) { state.name = generator.pick(names) }
            if generator.chance(30) { state.parent = parent(of: id, &generator, where: isUsable) }
            if generator.chance(50) {
                token += 4
                if generator.chance(50) { state.contents.priority = token }
                if generator.chance(50) { state.contents.notes.append(token + 1) }
                if generator.chance(30) { state.contents.tags.append(token + 2) }
                if generator.chance(20) { state.contents.notes = [] }
            }
            return state
        }

        private mutating func remote(of id: NodeID, _ synced: State?, _ generator: inout SeededGenerator) -> Remote {
            func isLiving(_ node: Node) -> Bool { if case .living = node.remote { true } else { false } }
            guard let synced else {
                guard generator.chance(50) else { return .absent }
                let parent = parent(of: id, &generator, where: isLiving)
                return .living(State(parent, generator.pick(names), fresh(&generator)))
            }
            switch generator.below(100) {
            case 0..<50: return .living(synced)
            case 50..<78: return .living(changed(synced, of: id, &generator, where: isLiving))
            case 78..<88:
                return .trashed(generator.chance(50) ? synced : changed(synced, of: id, &generator, where: isLiving))
            case 88..<96: return .absent
            default: return .unknown
            }
        }

        private mutating func local(of id: NodeID, _ node: Node, _ generator: inout SeededGenerator) -> Local {
            func isPresent(_ node: Node) -> Bool { if case .file = node.local { true } else { false } }
            guard let synced = node.synced else {
                // A new file. One of a node that other machines made has been adopted.
                guard generator.chance(35) else { return .absent }
                let parent = parent(of: id, &generator, where: isPresent)
                return file(id, parent, generator.pick(names), fresh(&generator))
            }
            let isThere =
                node.syncedDirectory.map { directory in
                    directory.kind == .task || nodes.contains { $0.id == directory && isPresent($0) }
                } ?? true
            switch generator.below(100) {
            case 0..<50:
                let location = Location(node.syncedDirectory, FileName(node.syncedFile ?? ""))
                guard isThere, !taken.contains(location) else { return .absent }
                return .file(location.directory, location.fileName.string, synced.contents)
            case 50..<80:
                let state = changed(synced, of: id, &generator, where: isPresent)
                let isParent = state.parent.map { parent in
                    parent.kind == .task || nodes.contains { $0.id == parent && isPresent($0) }
                }
                return file(id, isParent == false ? nil : state.parent, state.name, state.contents)
            case 80..<95: return .absent
            default: return .unreachable(.unreadable)
            }
        }

        private func file(_ id: NodeID, _ parent: NodeID?, _ name: String, _ contents: SampleContents) -> Local {
            guard let location = freeLocation(id.kind, parent, name, taken) else { return .absent }
            return .file(location.directory, location.fileName.string, contents)
        }

        private func freeLocation(
            _ kind: NodeKind, _ parent: NodeID?, _ name: String, _ taken: Set<Location>
        ) -> Location? {
            let safe = name.replacing("/", with: "-")
            for suffix in ["", " (2)", " (3)", " (4)"] {
                let location = Location(parent, FileName(safe + suffix + (kind == .task ? ".md" : "")))
                if !taken.contains(location), !foreign.contains(location) { return location }
            }
            return nil
        }
    }
}
