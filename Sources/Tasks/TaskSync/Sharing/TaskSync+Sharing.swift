import DocumentClient
import DocumentModel
import SystemService
import TaskFolder
package import TaskModel

/// Follows lists that users share. Each user sees the lists of others as directories among their
/// own.
extension TaskSync {
    /// Returns the query for the lists of other users that this user may use.
    static func sharedLists(with userID: UserID, in database: DatabaseName) -> Query {
        Query(
            parent: ParentName(database), collectionID: "lists",
            filter: .field(FieldPath(key: "sharedWith"), .arrayContains, .string(userID.rawValue)))
    }

    /// Returns the queries for the contents of another user's list: its tasks, and the values that
    /// merges displaced of them.
    private static func queries(of list: ListID, host: UserID, in database: DatabaseName) -> [Query] {
        let parent = ParentName(database)
        let filter = Query.Filter.and([
            .field(FieldPath(key: "userId"), .equal, .string(host.rawValue)),
            .field(FieldPath(key: "listId"), .equal, .string(list.rawValue)),
        ])
        return [
            Query(parent: parent, collectionID: "tasks", filter: filter),
            Query(parent: parent, collectionID: TaskHistory.collection, allDescendants: true, filter: filter),
        ]
    }

    /// Reads the lists that were shared when the last run ended.
    func loadHosts() async throws {
        hosts = try await client.reading { transaction in
            try HostRecord.hosts(in: SyncTables(transaction).state("hosts") ?? "").filter { list, host in
                // A list that is here has one owner.
                let name = try DocumentName(list: list, in: transaction.databaseName)
                let view = try transaction.document(name)
                return !view.exists || ListSharing(fields: view.fields).owner == host
            }
        }
    }

    /// Keeps the lists up to date that were shared when the last run ended.
    func loadSharing() async throws {
        for (list, host) in hosts.sorted(by: { $0.key < $1.key }) { try await watch(list, of: host) }
    }

    /// Whether a list is the user's own, or another user's that this machine follows.
    func isUsable(_ list: DocumentSnapshot) -> Bool {
        let owner = ListSharing(fields: list.fields).owner
        return owner == nil || owner == configuration.userID || hosts[list.name.list] != nil
    }

    func noteUnfollowed() {
        let key = "unfollowed lists"
        guard !unfollowed.isEmpty else { return problems[key] = nil }
        note(
            SyncProblem(
                code: "too-many-shared-lists", subject: nil,
                message:
                    "\(unfollowed.count) accepted lists of other accounts are not kept in step: a machine follows at most "
                    + "\(configuration.followedLists).",
                hint: "Leave lists that you do not need: ferry unshare LIST."),
            for: key)
    }

    /// Starts to follow a list that is shared with this user, or stops when it is no longer shared.
    ///
    /// - Returns: Whether documents have to be awaited.
    @discardableResult func followSharing(of view: DocumentSnapshot) async throws -> Bool {
        let list = view.name.list
        let host = view.exists ? ListSharing(fields: view.fields).host(of: configuration.userID) : nil
        guard hosts[list] != host else { return false }
        if hosts[list] != nil { try await letGo(list) }
        guard let host, hosts.count < configuration.followedLists else { return false }
        hosts[list] = host
        try await watch(list, of: host)
        let hosts = hosts
        try await client.transaction { try SyncTables($0).setHosts(hosts) }
        return true
    }

    private func watch(_ list: ListID, of host: UserID) async throws {
        let database = try await client.reading { $0.databaseName }
        // If the server refuses to let this account watch the list, the other queries must stay
        // current nevertheless.
        try await client.keep(Self.queries(of: list, host: host, in: database), areOptional: true)
    }

    /// Stops to follow a list that is no longer shared with this user. Its files stay and become
    /// the user's own; changes of them no longer reach the others.
    private func letGo(_ list: ListID) async throws {
        guard let host = hosts.removeValue(forKey: list) else { return }
        let database = try await client.reading { $0.databaseName }
        let queries = Self.queries(of: list, host: host, in: database)
        try await client.release(queries)
        let (hosts, tasks) = (hosts, catalog.tasks(ofList: list))
        // Files that were moved into the list name this account, and the ids are those of the other's tasks.
        for task in tasks {
            guard let path = index.path(of: task), let stamp = index[path]?.stamp else { continue }
            _ = try? folder.setMark(path, to: FileMark(task: task.rawValue), of: stamp)
        }
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for task in tasks {
                try tables.removeFile(task)
                try tables.unhold(task)
                try tables.removeAttachments(of: task)
                // Unsent changes are in the files, and the server would refuse them.
                try transaction.giveUp(DocumentName(task: task, in: database))
            }
            try transaction.giveUp(DocumentName(list: list, in: database))
            try tables.remove(list: list)
            try tables.setHosts(hosts)
            for query in queries { try transaction.forget(query) }
        }
        let name = catalog.listNames[list] ?? lists.path(list)?.string ?? ""
        lists.remove(list)
        // The directory keeps its name: the list of the user's own that it becomes has no namesake.
        _ = listBook.set(list, nil)
        for task in tasks {
            index.remove(task: task)
            attachments.removeAll(of: task)
            held[task] = nil
            waiting[task] = nil
            retries.remove(task)
            catalog.remove(task: task)
            _ = names.set(task, nil)
        }
        // There is room for one more list.
        if let next = unfollowed.min(by: { $0.id < $1.id }) { retriedLists.insert(next) }
        logger.notice("a list is not shared with this account any more; its files stay as tasks of its own: \(name)")
        try await rescan(isFirst: false)
    }

    // MARK: Commands

    /// Stops to share a list with a user, or with all, and withdraws open invitations. If the list
    /// belongs to another user, this user leaves it.
    package func unshare(_ list: ListID, from user: UserID?) async throws {
        if hosts[list] != nil {
            guard user == nil || user == configuration.userID else {
                throw TaskSyncError(.invalid, "Only the owner of the list can take it from others.")
            }
            return try await leave(list)
        }
        let me = configuration.userID
        let invitations = try await invitations().filter {
            $0.from == me && $0.list == list && (user == nil || $0.to == user)
        }
        try await remove(invitations)
        try await change(list) { sharing, _ in
            if let user, !sharing.members.contains(user) {
                if !invitations.isEmpty { return [:] }
                throw TaskSyncError(.notFound, "The list is not shared with that account.")
            }
            if sharing.members.isEmpty { return [:] }
            let left = sharing.members.filter { user != nil && $0 != user }
            var changes: [FieldPath: Value?] = [
                FieldPath(key: "sharedWith"): left.isEmpty ? nil : .array(left.map { .string($0.rawValue) })
            ]
            for gone in sharing.members where !left.contains(gone) {
                changes[ListSharing.namesField.appending(gone.rawValue)] = .some(nil)
            }
            return changes
        }
    }

    private func change(
        _ list: ListID, _ changes: @escaping @Sendable (ListSharing, UserID) throws -> [FieldPath: Value?]
    ) async throws {
        let user = configuration.userID
        try await withExclusiveAccess {
            try await client.transaction { transaction in
                let name = try DocumentName(list: list, in: transaction.databaseName)
                let sharing = ListSharing(fields: try transaction.document(name).fields)
                guard sharing.owner == user else {
                    throw TaskSyncError(.invalid, "The list belongs to somebody else, who alone can share it.")
                }
                let changes = try changes(sharing, user)
                if !changes.isEmpty { try transaction.append(.merge(name, changes)) }
            }
            try await exportChanges()
        }
    }

    /// Leaves another user's list, which stays for its other users.
    func leave(_ list: ListID) async throws {
        let user = configuration.userID
        try await client.transaction { transaction in
            let name = try DocumentName(list: list, in: transaction.databaseName)
            let members = ListSharing(fields: try transaction.document(name).fields).members.filter { $0 != user }
            try transaction.append(
                .merge(name, [FieldPath(key: "sharedWith"): .array(members.map { .string($0.rawValue) })]))
        }
    }
}

extension SyncTables {
    fileprivate func setHosts(_ hosts: [ListID: UserID]) throws {
        try setState("hosts", HostRecord.text(of: hosts))
    }
}

/// The lists of other users with their owners as text, one per line. Ids are encoded, because they
/// may contain any character.
enum HostRecord {
    static func text(of hosts: [ListID: UserID]) -> String {
        hosts.map { "\(escaped($0.key.rawValue)) \(escaped($0.value.rawValue))" }.sorted().joined(separator: "\n")
    }

    static func hosts(in text: String) -> [ListID: UserID] {
        var hosts: [ListID: UserID] = [:]
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: " ")).map { unescaped(Array($0)) }
            if parts.count == 2 { hosts[ListID(parts[0])] = UserID(parts[1]) }
        }
        return hosts
    }

    private static func escaped(_ id: String) -> String {
        var text: [UInt8] = []
        for byte in id.utf8 {
            if byte > 0x20, byte != 0x25, byte != 0x7F {
                text.append(byte)
            } else {
                let hex = String(byte, radix: 16)
                text += "%\(hex.count == 1 ? "0" : "")\(hex)".utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func unescaped(_ text: [UInt8]) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == 0x25, digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
