import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// The rows and documents of one user in one transaction.
struct StoredState: Sendable {
    var files: [FileRow] = []
    var lists: [(list: ListID, path: TaskPath)] = []
    var attachments: [AttachmentRow] = []
    var held: Set<TaskID> = []
    var reverted: Set<TaskID> = []
    var listDocuments: [DocumentSnapshot] = []
    var taskDocuments: [DocumentSnapshot] = []
    /// Whether the server has reported every document once.
    var isSynced = false
    /// Whether an operation was begun and the tables do not record its end.
    var hasIntents = false
    /// The marks of the directories of lists.
    var listDirectories: [ListID: ListDirectory] = [:]
    /// The directories that could not be listed when all known files had been found elsewhere, with
    /// their modification times at that moment.
    var unlisted: [TaskPath: FileTime] = [:]

    init(_ transaction: ReplicaTransaction) throws {
        let tables = SyncTables(transaction)
        files = try tables.shadows()
        lists = try tables.lists().sorted { $0.path < $1.path }
        listDirectories = try tables.listDirectories()
        attachments = try tables.attachments()
        held = Set(try tables.held().keys)
        reverted = Set(try tables.reverted().keys)
        isSynced = try tables.state("synced") != nil
        hasIntents =
            try !tables.announced().isEmpty || !tables.announcedMoves().isEmpty || !tables.unfinishedMoves().isEmpty
            || files.contains { $0.stamp == .none }
        unlisted = TaskSync.unreadable(saved: try tables.state("unreadable") ?? "")
        let queries = TaskSync.localQueries(in: transaction.databaseName)
        listDocuments = try transaction.documents(queries.lists).filter(\.exists)
        taskDocuments = try transaction.documents(queries.tasks).filter(\.exists)
    }

    /// The path of each list's directory when both sides last agreed.
    var listPaths: [ListID: TaskPath] { Dictionary(lists.map { ($0.list, $0.path) }) { first, _ in first } }
}

/// Reads the tree of a replica's documents.
struct RemoteTreeReader {
    let stored: StoredState
    let userID: UserID
    /// The name and the parent of each list. The name of a list's document is a path.
    private(set) var names: [ListID: (parent: NodeID?, name: FileName)] = [:]
    private var byName: [ExactText: NodeID] = [:]
    private var implied: [NodeID: NodeState] = [:]

    init(_ stored: StoredState, userID: UserID) {
        self.stored = stored
        self.userID = userID
        let names = stored.listDocuments.map {
            (id: $0.name.list, name: TaskList(fields: $0.fields).name, $0.createTime)
        }
        // If two lists have the same name, the one that the server had first contains the others.
        let ordered = names.sorted { left, right in
            switch (left.2, right.2) {
            case (let a?, let b?) where a != b: a < b
            case (_?, nil): true
            case (nil, _?): false
            default: left.id < right.id
            }
        }
        byName = Dictionary(ordered.map { (ExactText($0.name), .list($0.id)) }) { first, _ in first }
        for (id, name, _) in names { self.names[id] = place(of: name) }
    }

    /// Returns the list that contains a list with this name, and the last part of the name.
    private mutating func place(of name: String) -> (parent: NodeID?, name: FileName) {
        let parts = name.split(separator: "/")
        guard parts.count > 1, let last = parts.last else { return (nil, FileName(name)) }
        return (list(named: parts.dropLast().joined(separator: "/")), FileName(String(last)))
    }

    /// Returns the list with a name. A list without a document gets the id that its directory will
    /// have.
    private mutating func list(named name: String) -> NodeID? {
        if let known = byName[ExactText(name)] { return known }
        let taken = Set(stored.listDocuments.map(\.name.list)).union(stored.lists.map(\.list))
        guard let id = ListIndex.ids(named: name, of: userID).first(where: { !taken.contains($0) }) else { return nil }
        let list = NodeID.list(id)
        byName[ExactText(name)] = list
        let place = place(of: name)
        implied[list] = NodeState(parent: place.parent, name: place.name, contents: TaskState.contents(of: [:]))
        return list
    }

    /// Returns the tree.
    ///
    /// - Parameters:
    ///   - isComplete: Whether the server has reported all documents.
    ///   - now: The present moment, for documents that are about to be moved to the trash.
    func tree(isComplete: Bool, now: Retention.Moment) -> RemoteTree {
        var tree = RemoteTree()
        tree.isComplete = isComplete
        tree.implied = implied
        for view in stored.listDocuments {
            guard let place = names[view.name.list] else { continue }
            let state = NodeState(parent: place.parent, name: place.name, contents: Self.contents(ofList: view))
            tree[.list(view.name.list)] = .living(Self.node(state, view, userID: userID))
        }
        let rows = Dictionary(stored.files.map { ($0.task, $0) }) { first, _ in first }
        for view in stored.taskDocuments {
            let task = view.name.task
            tree[.task(task)] = Self.state(of: view, rows[view.name.task], userID: userID, now: now)
            guard !view.isAwaited else { continue }
            for (id, attachment) in TaskItem(fields: view.fields(pendingTimes: .previous)).attachments {
                guard let digest = attachment.sha256.flatMap({ ContentDigest(hex: $0) }) else { continue }
                let state = NodeState(
                    parent: .task(task), name: FileName(attachment.name), contents: Contents(digest: digest))
                tree[.attachment(id, of: task)] = .living(Self.node(state, view, userID: userID))
            }
        }
        return tree
    }

    /// Returns the state that a task's document describes.
    ///
    /// - Parameters:
    ///   - row: The task's file when both sides last agreed. Its layout counts if the document has
    ///     none.
    ///   - now: The present moment, for a document that is about to be moved to the trash.
    ///   - keepsFields: Whether the contents are more than a digest.
    static func state(
        of view: DocumentSnapshot, _ row: FileRow?, userID: UserID, now: Retention.Moment,
        keepsFields: Bool = true
    ) -> RemoteState {
        if view.isAwaited { return .unknown }
        guard view.exists else { return .absent }
        let fields = view.fields(pendingTimes: .previous)
        let shadow = row.flatMap { try? TaskFile(parsing: $0.bytes, named: $0.path.name) }
        let (name, contents) = TaskState.state(of: fields, insteadOf: shadow)
        let item = TaskItem(withoutAttachments: fields)
        var state = NodeState(parent: item.listId.map { .list($0) }, name: name, contents: contents)
        if !keepsFields { state.contents.fields = [:] }
        guard item.isDeleted || FileExport.isBeingDeleted(view) else {
            return .living(node(state, view, userID: userID))
        }
        let since = item.deletedTime.map { Retention.Moment(server: $0, machine: now.machine) }
        return .trashed(node(state, view, userID: userID), since: since ?? now)
    }

    /// Returns those fields of a list's document that do not follow from a directory.
    static func contents(ofList view: DocumentSnapshot) -> Contents {
        let shared = TaskList(fields: view.fields).sharedWith
        return TaskState.contents(
            of: shared.isEmpty ? [:] : ["sharedWith": .array(shared.map { .string($0.rawValue) })])
    }

    private static func node(_ state: NodeState, _ view: DocumentSnapshot, userID: UserID) -> RemoteNode {
        let owner = view.fields["userId"]?.stringValue.map { UserID($0) }
        return RemoteNode(
            state: state, version: version(of: view), created: view.createTime,
            access: owner == nil || owner == userID ? .full : .member)
    }

    /// Returns the version of a document that an operation expects. For a document that the server
    /// does not have yet it is the start of time.
    static func version(of view: DocumentSnapshot) -> Timestamp { view.updateTime ?? Timestamp(microseconds: 0) }
}

/// Reads the tree on which both sides last agreed from the tables of this replica.
struct SyncedTreeReader {
    let stored: StoredState
    private let lists: [TaskPath: ListID]
    private let namedTasks: [TaskID: Bool]

    init(_ stored: StoredState) {
        self.stored = stored
        lists = Dictionary(stored.lists.map { ($0.path, $0.list) }) { first, _ in first }
        let named = stored.taskDocuments.map { view in
            (view.name.task, TaskLayout.fileName(of: view.fields(pendingTimes: .previous)) != nil)
        }
        namedTasks = Dictionary(named) { first, _ in first }
    }

    /// Returns the tree. The tables contain no names of lists: a directory with the name that its
    /// document requests was in agreement with it, and any other one with its own name.
    func tree(_ documents: RemoteTree) -> SyncedTree {
        var tree = SyncedTree()
        for (list, path) in stored.lists {
            let id = NodeID.list(list)
            let location = location(of: path)
            let wanted = documents[id].node?.state
            let isMade = wanted.map { Self.isMade(path.name, of: $0.name.string) } ?? false
            let state = NodeState(
                parent: location.directory, name: isMade ? wanted?.name ?? location.fileName : location.fileName,
                contents: wanted?.contents ?? TaskState.contents(of: [:]))
            tree[id] = SyncedNode(state: state, location: location)
        }
        for row in stored.files {
            guard let state = Self.state(of: row, isNameChosen: isNameChosen(row.task)) else { continue }
            tree[.task(row.task)] = SyncedNode(state: state, location: location(of: row.path))
        }
        for row in stored.attachments {
            guard let digest = ContentDigest(hex: row.sha256) else { continue }
            let task = row.task
            let id = NodeID.attachment(row.attachment, of: task)
            let wanted = documents[id].node?.state.name
            let isMade = wanted.map { name in
                (1...9).contains {
                    TaskFileName.attachment(for: name.string, number: $0).utf8.elementsEqual(row.name.utf8)
                }
            }
            let name = isMade == true ? wanted ?? FileName(row.name) : FileName(row.name)
            let state = NodeState(parent: .task(task), name: name, contents: Contents(digest: digest))
            tree[id] = SyncedNode(state: state, location: Location(.task(task), FileName(row.name)))
        }
        return tree
    }

    /// Returns the state on which a task's file and document last agreed; nil if the row's text is
    /// no task file.
    static func state(of row: FileRow, isNameChosen: Bool?) -> NodeState? {
        guard let shadow = try? TaskFile(parsing: row.bytes, named: row.path.name) else { return nil }
        let (name, contents) = TaskState.state(of: shadow, named: row.path.name, isNameChosen: isNameChosen)
        return NodeState(parent: row.list.map { .list($0) }, name: name, contents: contents)
    }

    /// Whether the document of a task gives its file a name that differs from the title; nil if
    /// there is no document.
    func isNameChosen(_ task: TaskID) -> Bool? { namedTasks[task] }

    /// Returns the location of a known path, by the known directories of lists.
    func location(of path: TaskPath) -> Location {
        guard !path.parent.isRoot else { return Location(nil, FileName(path.name)) }
        let list = lists[path.parent]
        return Location(.list(list ?? Self.unlisted(path.parent)), FileName(path.name))
    }

    /// Returns an id that stands for the list of a directory without a list.
    static func unlisted(_ directory: TaskPath) -> ListID { ListID("directory \(directory)") }

    private static func isMade(_ directory: String, of name: String) -> Bool {
        (1...9).contains { number in
            (try? ListIndex.directory(named: name.replacing("/", with: "-"), from: number) { _ in false })?.string
                .utf8.elementsEqual(directory.utf8) ?? false
        }
    }
}
