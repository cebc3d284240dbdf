import DocumentClient
import DocumentModel
import SystemIO
package import TaskModel

/// Sends and answers invitations to lists. Nothing of a list is downloaded before its invitation is
/// accepted.
extension TaskSync {
    /// Returns the invitations that were not answered, oldest first: those to this user and those
    /// that this user sent.
    package func invitations() async throws -> [ListInvitation] {
        let user = configuration.userID
        let found = try await client.reading { transaction -> [ListInvitation] in
            let queries = ListInvitation.queries(of: user, in: transaction.databaseName)
            let views = try queries.prefix(2).flatMap { try transaction.documents($0) }
            return views.compactMap { ListInvitation(id: $0.name.id, fields: $0.fields) }
        }
        return found.sorted { left, right in
            let times = (left.time?.microseconds ?? .max, right.time?.microseconds ?? .max)
            return times.0 == times.1 ? left.id < right.id : times.0 < times.1
        }
    }

    /// Invites a user to a list that this user owns. The list is shared when the other user has
    /// accepted. Waits for the network.
    ///
    /// - Parameters:
    ///   - name: The other user's e-mail address.
    ///   - ownName: This account's e-mail address.
    package func invite(_ user: UserID, named name: String, to list: ListID, ownName: String) async throws {
        let me = configuration.userID
        let (document, invitation, listName) = try await withExclusiveAccess {
            try await client.transaction { transaction in
                let database = transaction.databaseName
                let document = try DocumentName(list: list, in: database)
                let view = try transaction.document(document)
                let sharing = ListSharing(fields: view.fields)
                guard sharing.owner == me else {
                    throw TaskSyncError(.invalid, "The list belongs to somebody else, who alone can share it.")
                }
                guard user != me else { throw TaskSyncError(.invalid, "The list is yours.") }
                guard !sharing.members.contains(user) else {
                    throw TaskSyncError(.invalid, "The list is shared with \(name) already.")
                }
                if sharing.names[me] != ownName {
                    try transaction.append(
                        .merge(document, [ListSharing.namesField.appending(me.rawValue): .string(ownName)]))
                }
                let invitation = try DocumentName(
                    database: database, collection: ListInvitation.collection,
                    id: ListInvitation.id(from: me, to: user, list: list))
                return (document, invitation, view["name"]?.stringValue ?? "")
            }
        }
        try await untilSent(document)
        try await online("invite \(name)") { transaction in
            transaction.set(
                invitation,
                [
                    "from": .string(me.rawValue), "to": .string(user.rawValue), "listId": .string(list.rawValue),
                    "listName": .string(listName), "fromName": .string(ownName), "toName": .string(name),
                ], transforms: [FieldTransform(FieldPath(key: "createdTime"), .serverTimestamp)])
        }
    }

    /// Accepts an invitation and starts to follow the list. Waits for the network.
    package func accept(_ invitation: ListInvitation) async throws {
        let me = configuration.userID
        guard hosts.count < configuration.followedLists else {
            throw TaskSyncError(
                .refused,
                "A machine follows at most \(configuration.followedLists) lists of other accounts. Leave one first: "
                    + "ferry unshare LIST.")
        }
        let database = try await client.reading { $0.databaseName }
        let list = try DocumentName(list: invitation.list, in: database)
        let document = try DocumentName(
            database: database, collection: ListInvitation.collection, id: invitation.id)
        try await online("accept the invitation; perhaps it was taken back") { transaction in
            transaction.update(
                list, [ListSharing.namesField.appending(me.rawValue): .string(invitation.toName)],
                transforms: [
                    FieldTransform(FieldPath(key: "sharedWith"), .appendMissingElements([.string(me.rawValue)]))
                ])
            transaction.delete(document)
        }
    }

    /// Removes invitations: their recipient declines them, or their sender withdraws them.
    package func remove(_ invitations: [ListInvitation]) async throws {
        try await client.transaction { transaction in
            for invitation in invitations {
                try transaction.append(
                    .delete(
                        DocumentName(
                            database: transaction.databaseName, collection: ListInvitation.collection,
                            id: invitation.id)))
            }
        }
    }

    /// Returns the accounts whose invitations are refused.
    package func blockedUsers() async throws -> [BlockedUser] {
        let user = configuration.userID
        let found = try await client.reading { transaction in
            let query = ListInvitation.queries(of: user, in: transaction.databaseName)[2]
            return try transaction.documents(query).compactMap { view -> BlockedUser? in
                // The part after the user's own id.
                guard view.name.id.utf8.starts(with: "\(user).".utf8) else { return nil }
                let other = String(view.name.id.dropFirst(user.rawValue.count + 1))
                return BlockedUser(user: UserID(other), name: view.fields["name"]?.stringValue ?? other)
            }
        }
        return found.sorted { ($0.name, $0.user) < ($1.name, $1.user) }
    }

    /// Refuses all invitations of a user from now on and declines the open ones; or ends that.
    /// Lists that are shared already stay shared.
    ///
    /// - Parameter name: The other user's e-mail address.
    package func setBlocked(_ other: UserID, named name: String, _ isBlocked: Bool) async throws {
        let user = configuration.userID
        guard other != user else { throw TaskSyncError(.invalid, "This is your own account.") }
        if isBlocked { try await remove(invitations().filter { $0.from == other && $0.to == user }) }
        try await client.transaction { transaction in
            let block = try DocumentName(
                database: transaction.databaseName, collection: ListInvitation.blocks, id: "\(user).\(other)")
            let exists = try transaction.document(block).exists
            guard exists != isBlocked else {
                if isBlocked { return }
                throw TaskSyncError(.notFound, "\(name) is not blocked.")
            }
            guard isBlocked else { return try transaction.append(.delete(block)) }
            try transaction.append(
                .set(
                    block, ["userId": .string(user.rawValue), "name": .string(name)],
                    transforms: [FieldTransform(FieldPath(key: "createdTime"), .serverTimestamp)]))
        }
    }

    /// Waits until all changes of a document were sent: the server refuses an invitation to a list
    /// that it does not know.
    private func untilSent(_ document: DocumentName) async throws {
        for _ in 0..<40 {
            if try await client.reading({ try $0.pending(document).isEmpty }) { return }
            try await environment.sleep(for: .milliseconds(250))
        }
        throw TaskSyncError(
            .offline, "The list has not reached the server yet. Try again when 'ferry sync --wait' is done.")
    }

    /// Runs a transaction on the server's newest versions.
    private func online(
        _ purpose: String, _ body: @escaping @Sendable (DocumentTransaction) throws -> Void
    ) async throws {
        do {
            try await client.runTransaction { try body($0) }
        } catch let error as RemoteError {
            switch error.code {
            case .permission: throw TaskSyncError(.refused, "The server does not let you \(purpose).")
            case .overloaded, .invalid, .tooLarge: throw TaskSyncError(.refused, error.message)
            case .precondition: throw TaskSyncError(.notFound, "The list or the invitation is not there any more.")
            default: throw TaskSyncError(.offline, "The server cannot be reached: \(error.message)")
            }
        } catch let error as DocumentClientError {
            throw TaskSyncError(.notFound, "The list or the invitation is not there any more: \(error.message)")
        }
    }
}
