import Control

extension DaemonService {
    private var invitationBook: ListInvitations { ListInvitations(access: access) }
    private var sharing: ListSharing { ListSharing(invitations: invitationBook) }

    func lists() async throws -> [ListSummary] { try await sharing.lists() }

    func share(_ list: String, with user: String) async throws -> ListSummary {
        try await sharing.share(list, with: user)
    }

    func unshare(_ list: String, from user: String?) async throws -> ListSummary {
        try await sharing.unshare(list, from: user)
    }

    func invitations() async throws -> [InvitationSummary] { try await invitationBook.all() }

    func answerInvitation(_ invitation: String, _ answer: InvitationAnswer) async throws -> InvitationSummary {
        let answered = try await invitationBook.answer(invitation, answer)
        hub.poke()
        return answered
    }

    func blocks() async throws -> [BlockSummary] { try await invitationBook.blocks() }

    func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary] {
        try await invitationBook.setBlocked(user, isBlocked)
    }
}
