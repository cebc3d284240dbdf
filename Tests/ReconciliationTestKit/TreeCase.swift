import DocumentModel
package import Reconciliation
import TaskModel

/// Three trees of a few nodes, written down node by node, so that they can be drawn at random, made
/// smaller, and printed as a test.
package struct TreeCase: Hashable, Sendable {
    /// A state: parent, wanted name, contents.
    package struct State: Hashable, Sendable {
        package var parent: NodeID?
        package var name: String
        package var contents: SampleContents

        package init(_ parent: NodeID?, _ name: String, _ contents: SampleContents) {
            self.parent = parent
            self.name = name
            self.contents = contents
        }

        package func node(_ kind: NodeKind) -> NodeState {
            NodeState(parent: parent, name: FileName(name), contents: contents.contents(of: kind))
        }
    }

    /// A file: directory, file name, contents.
    package enum Local: Hashable, Sendable {
        case file(NodeID?, String, SampleContents)
        case absent
        case unreachable(Unreachable)
    }

    package enum Remote: Hashable, Sendable {
        case living(State)
        case trashed(State)
        case absent
        case unknown
    }

    package struct Node: Hashable, Sendable {
        package var id: NodeID
        package var synced: State?
        /// The directory and file name of the file when both sides agreed.
        package var syncedFile: String?
        package var syncedDirectory: NodeID?
        package var local: Local
        package var remote: Remote

        package init(
            _ id: NodeID, synced: State? = nil, at directory: NodeID? = nil, called file: String? = nil, local: Local,
            remote: Remote
        ) {
            self.id = id
            self.synced = synced
            self.syncedDirectory = directory
            self.syncedFile = file
            self.local = local
            self.remote = remote
        }
    }

    package var nodes: [Node]
    /// Files of no node, by directory and name.
    package var foreign: [Location]

    package init(_ nodes: [Node], foreign: [Location] = []) {
        self.nodes = nodes
        self.foreign = foreign
    }

    /// The trees. Files have the numbers of their nodes' positions as inodes.
    package var trees: Trees {
        var trees = Trees()
        trees.local.foreign = Set(foreign)
        for (index, node) in nodes.enumerated() {
            let kind = node.id.kind
            if let synced = node.synced {
                let location = Location(node.syncedDirectory, FileName(node.syncedFile ?? synced.name))
                trees.synced[node.id] = SyncedNode(state: synced.node(kind), location: location)
            }
            switch node.local {
            case .file(let directory, let name, let contents):
                trees.local[node.id] = .present(
                    LocalFile(
                        location: Location(directory, FileName(name)), stamp: Self.stamp(index),
                        contents: contents.contents(of: kind)))
            case .absent: break
            case .unreachable(let reason): trees.local[node.id] = .unreachable(reason)
            }
            let time = Timestamp(microseconds: Int64(index) + 1)
            func remote(_ state: State) -> RemoteNode {
                RemoteNode(state: state.node(kind), version: time, created: time)
            }
            switch node.remote {
            case .living(let state): trees.remote[node.id] = .living(remote(state))
            case .trashed(let state):
                trees.remote[node.id] = .trashed(remote(state), since: .init(server: time, machine: 0))
            case .absent: break
            case .unknown: trees.remote[node.id] = .unknown
            }
        }
        return trees
    }

    /// Returns the stamp of a file with this number.
    package static func stamp(_ number: Int) -> Stamp {
        let time = Stamp.Time(seconds: Int64(number), nanoseconds: 0)
        return Stamp(
            file: Stamp.File(device: 1, inode: UInt64(truncatingIfNeeded: number)), size: 1, modified: time,
            changed: time)
    }
}

extension TreeCase: CustomStringConvertible {
    /// The case as Swift source, ready to be pasted into a test.
    package var description: String {
        let nodes = nodes.map { "    \($0.source),\n" }.joined()
        let foreign = foreign.map { "Location(\(source(of: $0.directory)), FileName(\"\($0.fileName)\"))" }
        return "TreeCase([\n\(nodes)], foreign: [\(foreign.joined(separator: ", "))])"
    }
}

private func source(of id: NodeID?) -> String {
    switch id {
    case nil: "nil"
    case .list(let id): ".list(ListID(\"\(id)\"))"
    case .task(let id): ".task(TaskID(\"\(id)\"))"
    case .attachment(let id, let task): ".attachment(AttachmentID(\"\(id)\"), of: TaskID(\"\(task)\"))"
    }
}

private func source(of contents: SampleContents) -> String {
    "SampleContents(\(contents.priority), notes: \(contents.notes), tags: \(contents.tags))"
}

extension TreeCase.State {
    fileprivate var source: String {
        "TreeCase.State(\(ReconciliationTestKit.source(of: parent)), \"\(name)\", "
            + "\(ReconciliationTestKit.source(of: contents)))"
    }
}

extension TreeCase.Node {
    fileprivate var source: String {
        let local =
            switch local {
            case .file(let directory, let name, let contents):
                ".file(\(ReconciliationTestKit.source(of: directory)), \"\(name)\", "
                    + "\(ReconciliationTestKit.source(of: contents)))"
            case .absent: ".absent"
            case .unreachable(let reason): ".unreachable(.\(reason.rawValue))"
            }
        let remote =
            switch remote {
            case .living(let state): ".living(\(state.source))"
            case .trashed(let state): ".trashed(\(state.source))"
            case .absent: ".absent"
            case .unknown: ".unknown"
            }
        let agreed = synced.map {
            "synced: \($0.source), at: \(ReconciliationTestKit.source(of: syncedDirectory)), "
                + "called: \"\(syncedFile ?? $0.name)\", "
        }
        return
            "TreeCase.Node(\(ReconciliationTestKit.source(of: id)), \(agreed ?? "")local: \(local), remote: \(remote))"
    }
}
