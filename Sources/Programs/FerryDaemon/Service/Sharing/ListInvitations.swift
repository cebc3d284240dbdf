import Control
import Cryptography
import TaskModel
import TaskSync

/// Invitations to lists, and accounts whose invitations are refused.
struct ListInvitations: Sendable {
    let access: SyncAccess

    /// Every open invitation, received ones first.
    func all() async throws -> [InvitationSummary] {
        let (received, sent) = try await open()
        return received.map { Self.summary(of: $0, isSent: false) } + sent.map { Self.summary(of: $0, isSent: true) }
    }

    /// Accepts or declines the invitation that a user names by its number or the start of its id.
    func answer(_ invitation: String, _ answer: InvitationAnswer) async throws -> InvitationSummary {
        let received = try await open().received
        let ids = received.map { Self.summary(of: $0, isSent: false).id }
        let found = Self.positions(meantBy: invitation, in: ids).map { received[$0] }
        guard let invitation = found.first else {
            throw ControlError(
                .notFound, "There is no invitation '\(invitation)'.", hint: "'ferry invitations' shows them.")
        }
        guard found.count == 1 else {
            throw ControlError(
                .ambiguous, "Several invitations match.", hint: "'ferry invitations' shows their ids.")
        }
        try await access.asking { sync in
            switch answer {
            case .accept: try await sync.accept(invitation)
            case .decline: try await sync.remove([invitation])
            }
        }
        return Self.summary(of: invitation, isSent: false)
    }

    /// Returns the positions that a word denotes: a number counts from 1, and a word of four
    /// characters or more is the prefix of an id. A wrong number must not be taken for a prefix.
    static func positions(meantBy word: String, in ids: [String]) -> [Int] {
        guard word.utf8.count >= 4 else {
            return ids.indices.filter { "\($0 + 1)" == word }
        }
        return ids.indices.filter { ids[$0].hasPrefix(word.lowercased()) }
    }

    /// The accounts whose invitations are refused.
    func blocks() async throws -> [BlockSummary] {
        try await access.asking { try await $0.blockedUsers() }
            .map { BlockSummary(userID: $0.user.rawValue, name: $0.name) }
    }

    /// Refuses the invitations of an account from now on, or no longer.
    func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary] {
        let word = user.lowercased()
        let blocked = try await access.asking { try await $0.blockedUsers() }
        var id = blocked.first { $0.user.rawValue == user || $0.name.lowercased() == word }?.user
        if id == nil {
            id = try await open().received.first { $0.from.rawValue == user || $0.fromName.lowercased() == word }?
                .from
        }
        let other: UserID
        if let id { other = id } else { other = try await access.account.userID(of: user) }
        try await access.asking { try await $0.setBlocked(other, named: user, isBlocked) }
        return try await blocks()
    }

    /// The open invitations; the numbers that a user may type are those of `received`.
    func open() async throws -> (received: [ListInvitation], sent: [ListInvitation]) {
        let user = await access.account.user
        let all = try await access.asking { try await $0.invitations() }
        return (all.filter { $0.to == user }, all.filter { $0.from == user })
    }

    private static func summary(of invitation: ListInvitation, isSent: Bool) -> InvitationSummary {
        InvitationSummary(
            id: String(SHA256.hash(invitation.id).hex.prefix(8)), list: invitation.listName, from: invitation.fromName,
            to: invitation.toName, isSent: isSent, time: invitation.time?.rfc3339)
    }
}
