import DocumentModel
import Reconciliation
import ReconciliationTestKit
import TaskFolder
import TaskModel
import TaskSync

/// The differences between what `TaskSync` made of a state and what the planner plans from it.
struct ShadowDifferences {
    /// One node, as a user sees it: with paths instead of ids of lists.
    private struct Face: Equatable {
        var document: String
        var list: String
        var name: String
        var fields: [String: Value]
        var path: String
        var fileFields: [String: Value]

        /// The aspects in which two differ, with both values.
        func differences(from other: Face) -> [(aspect: String, text: String)] {
            var found: [(String, String)] = []
            func compare(_ aspect: String, _ mine: String, _ theirs: String) {
                if mine != theirs { found.append((aspect, "'\(mine)', TaskSync '\(theirs)'")) }
            }
            compare("document", document, other.document)
            if document == "living", other.document == "living" {
                compare("list", list, other.list)
                compare("name", name, other.name)
                if fields != other.fields { found.append(("contents", Self.text(fields, other.fields))) }
            }
            // Of a file that cannot be looked at nothing is known on either side.
            if path.hasPrefix("unreachable") || other.path.hasPrefix("unreachable") { return found }
            if path.isEmpty != other.path.isEmpty {
                compare("file", path.isEmpty ? "none" : "present", other.path.isEmpty ? "none" : "present")
            } else {
                compare("path", path, other.path)
                if fileFields != other.fileFields { found.append(("text", Self.text(fileFields, other.fileFields))) }
            }
            return found
        }

        private static func text(_ mine: [String: Value], _ theirs: [String: Value]) -> String {
            Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
                .map {
                    "\($0): \(mine[$0].map { "\($0)" } ?? "none"), TaskSync \(theirs[$0].map { "\($0)" } ?? "none")"
                }
                .joined(separator: "; ")
        }
    }

    /// The differences by kind, each with an example.
    private(set) var found: [(kind: String, example: String)] = []
    /// The differences in which the planner is known to be right; see `reconciliation.md`.
    private(set) var explained: [(kind: String, example: String)] = []
    /// The number of nodes that were compared.
    private(set) var nodeCount = 0

    init(_ comparison: MachineCopy.Comparison) {
        let (before, after) = (comparison.before, comparison.after)
        guard !before.conditions.isRootHeld else { return }
        var replica = ModelReplica(before.trees)
        replica.conditions = before.conditions
        var server = ModelServer(before.trees.remote)
        let first = Planner.plan(before.trees, before.conditions)
        var plan = first
        for _ in 0..<6 where !plan.operations.isEmpty {
            let failed = replica.perform(plan.operations, on: &server)
            for operation in failed {
                found.append(("an operation of the plan fails", "\(operation.node): \(operation.action)"))
            }
            plan = Planner.plan(replica.trees, replica.conditions)
        }
        if !plan.operations.isEmpty { found.append(("the plan does not end", "\(plan.operations.prefix(3))")) }
        let planned = Faces(replica.trees)
        let actual = Faces(after.trees)
        var names = Self.names(of: before, planned, after, actual)
        let remade = Self.remadeLists(before, planned, after, actual)
        names.merge(remade) { $1 }
        if !remade.isEmpty { explained.append((Self.remadeList, "\(remade)")) }
        let ids = replica.trees.ids.union(after.trees.ids.filter { !names.values.contains($0) })
        for id in ids.sorted() where id.kind != .attachment && !before.refused.contains(id) {
            nodeCount += 1
            let (mine, theirs) = (planned.face(of: id), actual.face(of: names[id] ?? id))
            let steps = Self.steps(of: id, first)
            let differences = mine.differences(from: theirs)
            if !differences.isEmpty,
                let reason = Self.explanation(of: id, differences.map(\.aspect), first, comparison, remade)
            {
                explained.append((reason, "\(id)"))
                continue
            }
            for (aspect, text) in differences {
                let state = Self.text(of: id, before.trees)
                found.append(("\(id.kind.rawValue), \(steps): \(aspect)", "\(id): \(text); before: \(state)"))
            }
        }
    }

    private static let remadeList = "a list that was renamed while TaskSync was away is another list to it"

    /// Returns the reason for which the planner is right to differ; `nil` if none is known.
    private static func explanation(
        of id: NodeID, _ aspects: [String], _ plan: Reconciliation.Plan, _ comparison: MachineCopy.Comparison,
        _ remade: [NodeID: NodeID]
    ) -> String? {
        let (before, after) = (comparison.before, comparison.after)
        // Its files are new ones to TaskSync, or have moved.
        let places = [before.trees.local[id].file?.location.directory, after.trees.local[id].file?.location.directory]
        if places.contains(where: { place in place.map { remade[$0] != nil || remade.values.contains($0) } ?? false }) {
            return remadeList
        }
        let unreadable = "nothing is concluded from a directory that cannot be read"
        if case .unreachable = before.trees.local[id] { return unreadable }
        // The file waits to get into such a directory, or to be created there.
        if case .unreachable = plan.reasons[id], aspects == ["path"] || aspects == ["file"] { return unreadable }
        if !before.trees.ids.contains(id), let location = after.trees.synced[id]?.location,
            before.trees.local.foreign.contains(location)
        {
            return unreadable
        }
        return nil
    }

    /// The state of a node before the plan, for people.
    private static func text(of id: NodeID, _ trees: Trees) -> String {
        let faces = Faces(trees)
        let face = faces.face(of: id)
        let synced = trees.synced[id].map { "'\($0.location.fileName)' of '\($0.state.name)'" } ?? "nothing"
        return "file '\(face.path)', document \(face.document) '\(face.list)' '\(face.name)', agreed \(synced)"
    }

    /// The lists that `TaskSync` made of directories in which the planner recognizes known lists, and
    /// the known lists that it sees in new directories with their names.
    private static func remadeLists(
        _ before: TreeReader.Reading, _ planned: Faces, _ after: TreeReader.Reading, _ actual: Faces
    ) -> [NodeID: NodeID] {
        let made = after.trees.local.ids.filter { $0.kind == .list && before.trees.local[$0].file == nil }
        let byPath = Dictionary(made.map { (actual.path(of: $0), $0) }) { first, _ in first }
        var remade: [NodeID: NodeID] = [:]
        for id in before.trees.local.ids where id.kind == .list && !id.isNew {
            let place = after.trees.local[id].file.map { _ in actual.path(of: id) }
            guard before.trees.synced[id] != nil, place != planned.path(of: id),
                let other = byPath[planned.path(of: id)]
            else { continue }
            remade[id] = other
            let heir = before.trees.local.ids.first { $0.kind == .list && $0 != id && planned.path(of: $0) == place }
            if let heir { remade[heir] = id }
        }
        return remade
    }

    /// The actions of the first plan for a node.
    private static func steps(of id: NodeID, _ plan: Reconciliation.Plan) -> String {
        let actions = plan.operations.filter { $0.node == id }.map { operation in
            String("\(operation.action)".prefix { $0 != "(" })
        }
        if !actions.isEmpty { return actions.joined(separator: " ") }
        return plan.reasons[id].map { "waits for \($0)" } ?? "rest"
    }

    /// The ids that `TaskSync` gave to new files and directories, by those that the reader gave.
    private static func names(
        of before: TreeReader.Reading, _ planned: Faces, _ after: TreeReader.Reading, _ actual: Faces
    ) -> [NodeID: NodeID] {
        var names: [NodeID: NodeID] = [:]
        let byPath = Dictionary(after.trees.local.ids.map { (actual.path(of: $0), $0) }) { first, _ in first }
        let byFile = Dictionary(
            after.trees.local.ids.filter { $0.kind == .task }
                .compactMap { id in after.trees.local[id].file.map { ($0.stamp.file, id) } }
        ) { first, _ in first }
        for id in before.trees.local.ids where id.isNew {
            if id.kind == .task, let file = before.trees.local[id].file, let found = byFile[file.stamp.file] {
                names[id] = found
            } else if let found = byPath[planned.path(of: id)] ?? byPath[before.paths[id]?.string ?? ""] {
                names[id] = found
            }
        }
        // Lists that neither side had: both make them for lists within.
        func isMade(_ id: NodeID) -> Bool {
            id.kind == .list && before.trees.remote[id].node == nil && before.trees.local[id].file == nil
                && before.trees.synced[id] == nil
        }
        for id in planned.trees.ids where isMade(id) {
            if let found = byPath[planned.path(of: id)], found != id, isMade(found) { names[id] = found }
        }
        return names
    }

    /// The nodes of trees with their paths.
    private struct Faces {
        let trees: Trees

        init(_ trees: Trees) { self.trees = trees }

        func face(of id: NodeID) -> Face {
            let remote = trees.remote[id]
            let file = trees.local[id].file
            let document =
                switch remote {
                case .living: "living"
                case .trashed, .absent: "gone"
                case .unknown: "unknown"
                }
            let state = remote.node?.state
            let fields = Self.written(state?.contents, state?.name, id.kind)
            let name = state?.name ?? file.map { NodeID.title(of: $0.location.fileName) }
            return Face(
                document: document, list: documentPath(remote.node?.state.parent),
                name: remote.node?.state.name.string ?? "",
                fields: fields, path: path(of: id), fileFields: Self.written(file?.contents, name, id.kind))
        }

        /// The fields of contents in the layout of the file that Ferry writes for them.
        private static func written(_ contents: Contents?, _ name: FileName?, _ kind: NodeKind) -> [String: Value] {
            guard kind == .task, let contents, let name else { return [:] }
            return TreeReader.contents(ofFileWith: contents.fields, name: name).fields
        }

        func path(of id: NodeID) -> String {
            guard let file = trees.local[id].file else {
                if case .unreachable(let reason) = trees.local[id] { return "unreachable: \(reason)" }
                return ""
            }
            return path(of: file.location, depth: 0)
        }

        private func path(of location: Location, depth: Int) -> String {
            guard let directory = location.directory, depth < 20 else { return location.fileName.string }
            guard let file = trees.local[directory].file else { return "?/\(location.fileName)" }
            return path(of: file.location, depth: depth + 1) + "/\(location.fileName)"
        }

        private func documentPath(_ parent: NodeID?) -> String {
            var (parts, current, depth) = ([String](), parent, 0)
            while let id = current, depth < 20 {
                let state = trees.remote[id].node?.state
                parts.insert(state?.name.string ?? "?", at: 0)
                (current, depth) = (state?.parent, depth + 1)
            }
            return parts.joined(separator: "/")
        }
    }
}

extension NodeID {
    /// The title that a task file's name states.
    fileprivate static func title(of fileName: FileName) -> FileName {
        FileName(TaskFileName.title(of: fileName.string))
    }

    /// Whether the reader made the id for a file or directory that belongs to no known node.
    fileprivate var isNew: Bool {
        switch self {
        case .task(let id): id.rawValue.hasPrefix("new ")
        case .list(let id): id.rawValue.hasPrefix("directory ")
        case .attachment: false
        }
    }
}
