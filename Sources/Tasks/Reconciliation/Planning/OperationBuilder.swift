/// Turns decisions into operations, in the order in which they are to happen.
///
/// Documents come before files: what a user saved is in the journal before a file is replaced.
/// Files that go make room first, directories are made before what is in them, and emptied before
/// they are removed.
struct OperationBuilder {
    private let draft: PlanDraft
    private var records: [Operation] = []
    private var documents: [Operation] = []
    private var trashes: [Operation] = []
    private var moves: [MoveOrder.Move] = []
    /// The operations of each move: the move itself, and one that only moves the file aside.
    private var moveOperations: [(final: Operation, aside: SyncedRow?)] = []
    private var writes: [Operation] = []
    private var removals: [Operation] = []
    private var agreements: [Operation] = []

    private init(_ draft: PlanDraft) { self.draft = draft }

    /// Returns the operations of a plan.
    static func operations(of draft: PlanDraft) -> [Operation] {
        var builder = OperationBuilder(draft)
        for node in draft.nodes { builder.add(node) }
        builder.moveRemovedDirectoriesAside()
        // What is in a directory goes before the directory: attachments, then tasks; lists by depth.
        let trashes = builder.trashes.reversed()
        let files = builder.orderedMoves()
        let removals = builder.removals.sorted { builder.depth($0.node) > builder.depth($1.node) }
        return builder.records + builder.documents + trashes + files + builder.writes + removals + builder.agreements
    }

    private mutating func add(_ node: NodePlan) {
        records += node.records
        addPurge(of: node)
        switch node.resolution {
        case .wait: break
        case .forget: if node.synced != nil { agreements.append(Operation(node.id, .record, .nothing, row: nil)) }
        case .trashDocument: addDocumentTrash(of: node)
        case .trashFile:
            guard let file = node.file else { return }
            let trash = Operation(node.id, .trashFile, .stamp(file.stamp), row: nil)
            if node.id.kind == .list { removals.append(trash) } else { trashes.append(trash) }
        case .none, .exportFile, .importFile, .merge, .restoreFile, .restoreDocument:
            var row = node.synced.map { SyncedRow(state: Draft($0.state), location: $0.location) }
            addDocument(of: node, &row)
            addFile(of: node, &row)
        }
    }

    private mutating func addPurge(of node: NodePlan) {
        guard case .trashed(let document, let since) = node.remote, let now = draft.conditions.now,
            node.resolution == .none || node.resolution == .forget,
            draft.conditions.retention.isOver(since: since, at: now)
        else { return }
        documents.append(Operation(node.id, .purgeDocument, .version(document.version), row: nil))
    }

    private mutating func addDocumentTrash(of node: NodePlan) {
        guard let document = node.remote.node else { return }
        let isLeft = node.id.kind == .list && document.access != .full
        let row = node.synced.map { SyncedRow(state: Draft($0.state), location: $0.location) }
        documents.append(
            Operation(
                node.id, isLeft ? .leaveList : .trashDocument, .version(document.version), row: isLeft ? row : nil))
    }

    /// Adds the write that makes the document what the target says. The file's state is then the
    /// new base: the document has it, and whatever else it has is news for the file.
    private mutating func addDocument(of node: NodePlan, _ row: inout SyncedRow?) {
        guard let target = node.documentTarget, node.writesDocument else { return }
        let (action, expectation): (Action, Expectation)
        switch node.remote {
        case .living(let document):
            if target.isStated(by: document.state) { return }
            action = .updateDocument(target, displaced: node.displaced)
            expectation = .version(document.version)
        case .trashed(let document, _):
            action = .restoreDocument(target, displaced: node.displaced)
            expectation = .version(document.version)
        case .absent, .unknown:
            action = .createDocument(target)
            expectation = .noDocument
        }
        if let local = node.local, let file = node.file {
            row = SyncedRow(state: node.agreement(on: Draft(local)), location: file.location)
        }
        documents.append(Operation(node.id, action, expectation, row: row))
    }

    /// Adds what makes the file what the target says, where the location says.
    private mutating func addFile(of node: NodePlan, _ row: inout SyncedRow?) {
        guard let target = node.target, let location = node.location else { return }
        let agreement = node.agreement(on: target)
        if let file = node.file {
            if location != file.location {
                let before = row
                row = SyncedRow(
                    state: Draft(
                        parent: target.parent, name: target.name,
                        contents: row?.state.contents ?? .known(file.contents)), location: location)
                let move = Operation(node.id, .moveFile(location), .stampAndVacant(file.stamp), row: row)
                append(move, from: file.location, to: location, before: before)
            }
            if node.id.kind != .list, !target.contents.isStated(by: file.contents) {
                row = SyncedRow(state: agreement, location: location)
                writes.append(Operation(node.id, .writeFile(target.contents), .stamp(file.stamp), row: row))
            }
        } else {
            row = SyncedRow(state: target, location: location)
            let create = Operation(node.id, .createFile(location, target.contents), .vacant, row: row)
            append(create, from: nil, to: location, before: nil)
        }
        let agreed = SyncedRow(state: agreement, location: location)
        if row != agreed { agreements.append(Operation(node.id, .record, .nothing, row: agreed)) }
    }

    private mutating func append(_ operation: Operation, from: Location?, to: Location, before: SyncedRow?) {
        moves.append(MoveOrder.Move(node: operation.node, from: from, to: to))
        moveOperations.append((operation, before))
    }

    /// A directory that is removed in the end may have the name of one that comes before.
    private mutating func moveRemovedDirectoriesAside() {
        let wanted = Set(moves.map(\.to))
        for removal in removals {
            guard let node = draft[removal.node], let file = node.file, wanted.contains(file.location) else { continue }
            let name = NodeName.wanted(of: .list, by: file.location.fileName)
            let free = (2..<NameAllocation.limit).lazy
                .map { Location(file.location.directory, NodeName.fileName(of: .list, for: name, number: $0)) }
                .first { !wanted.contains($0) && self.isFree($0) }
            guard let free else { continue }
            let row = node.synced.map { SyncedRow(state: Draft($0.state), location: free) }
            let move = Operation(node.id, .moveFile(free), .stampAndVacant(file.stamp), row: row)
            append(move, from: file.location, to: free, before: row)
        }
    }

    private func isFree(_ location: Location) -> Bool {
        draft.trees.local.occupants[location] == nil && !draft.trees.local.foreign.contains(location)
    }

    private func orderedMoves() -> [Operation] {
        let wanted = Set(moves.map(\.to))
        let steps = MoveOrder.steps(moves) { [draft] location in
            draft.trees.local.occupants[location] == nil && !draft.trees.local.foreign.contains(location)
                && !wanted.contains(location)
        }
        return steps.map { step in
            switch step {
            case .move(let index): return moveOperations[index].final
            case .aside(let index, let location):
                var operation = moveOperations[index].final
                operation.action = .moveFile(location)
                operation.row = moveOperations[index].aside
                operation.row?.location = location
                return operation
            }
        }
    }

    private func depth(_ list: NodeID) -> Int {
        var depth = 0
        var parent = draft[list]?.file?.location.directory
        while let id = parent, depth < 64 {
            depth += 1
            parent = draft.trees.local[id].file?.location.directory
        }
        return depth
    }
}
