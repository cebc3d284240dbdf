import Control
import TaskModel
import TaskSync

/// The lists, and whom they are shared with.
struct ListSharing: Sendable {
    let invitations: ListInvitations
    private var access: SyncAccess { invitations.access }

    /// Every list with its members and those invited to it.
    func lists() async throws -> [ListSummary] {
        let catalog = try await access.stack().sync.catalog
        let user = await access.account.user
        var summaries = TaskLists.summaries(of: catalog, for: user)
        let invited = Dictionary(grouping: try await invitations.open().sent, by: \.list)
        for index in summaries.indices {
            summaries[index].invited = invited[ListID(summaries[index].id)]?.map(\.toName).sorted() ?? []
        }
        return summaries
    }

    /// Invites an account to a list.
    func share(_ list: String, with user: String) async throws -> ListSummary {
        guard let account = await access.account.current else { throw Account.nobody }
        let summary = try await self.list(named: list)
        guard let ownName = account.email else {
            throw ControlError(
                .conflict, "Others could not tell who shared the list: this account has no e-mail address.",
                hint: "ferry link --email ADDRESS")
        }
        let id = try await access.account.userID(of: user)
        try await access.asking { try await $0.invite(id, named: user, to: ListID(summary.id), ownName: ownName) }
        var answer = try await self.list(summary.id)
        // What the server has just taken need not be here yet.
        if !answer.invited.contains(user) { answer.invited.append(user) }
        return answer
    }

    /// Takes a member or an invitation from a list, or all of them if `user` is nil.
    func unshare(_ list: String, from user: String?) async throws -> ListSummary {
        let summary = try await self.list(named: list)
        let sharing = try await access.stack().sync.catalog.sharing[ListID(summary.id)]
        let invited = try await invitations.open().sent.filter { $0.list == ListID(summary.id) }
        guard sharing != nil || !invited.isEmpty else {
            throw ControlError(.notFound, "The list '\(summary.name)' is not shared.")
        }
        var id: UserID?
        if let user {
            // What it was called when it was shared, also when that account is gone.
            let word = user.lowercased()
            let known =
                sharing?.members.first { $0.rawValue == user || sharing?.names[$0]?.lowercased() == word }
                ?? invited.first { $0.to.rawValue == user || $0.toName.lowercased() == word }?.to
            if let known { id = known } else { id = try await access.account.userID(of: user) }
        }
        let member = id
        try await access.asking { try await $0.unshare(ListID(summary.id), from: member) }
        return (try? await self.list(summary.id)) ?? summary
    }

    private func list(_ id: String) async throws -> ListSummary {
        guard let found = try await lists().first(where: { $0.id == id }) else {
            throw ControlError(.notFound, "The list does not exist any more.")
        }
        return found
    }

    private func list(named name: String) async throws -> ListSummary {
        let all = try await lists()
        let word = name.lowercased()
        let found = all.filter { $0.name == name || $0.id == name }
        let similar = found.isEmpty ? all.filter { $0.name.lowercased() == word } : found
        guard let list = similar.first else {
            throw ControlError(.notFound, "There is no list '\(name)'.", hint: "'ferry lists' shows them.")
        }
        guard similar.count == 1 else {
            throw ControlError(.ambiguous, "Several lists are called '\(name)'.", hint: "Rename one of them.")
        }
        guard !list.id.isEmpty else {
            throw ControlError(
                .invalidArgument, "The default list is yours alone.",
                hint: "Create a list, which is a directory below the tasks directory, and share it.")
        }
        return list
    }
}
