/// The reason for which a node is not at rest.
package enum Reason: Hashable, Sendable {
    /// The plan has operations for it.
    case inProgress
    case paused
    case rootHeld
    case serverHeld
    case unreachable(Unreachable)
    /// The server has not reported its document yet.
    case notReported
    case heldForReview(HeldChange)
    /// The server refused the change, and gave this message.
    case rejected(String)
    /// The user may not change the document.
    case notPermitted
    /// The list is offered to the user, who has not accepted it.
    case invited
    /// The membership in its list is being given up.
    case leaving
    /// Another node of its list, or a foreign file in its directory, has to go first.
    case notEmpty
    /// A foreign file has the name that the node should have.
    case nameTaken(FileName)
    case transferring
    case transferPaused
    case transferFailed(String)
    /// The attachment is not wanted on this machine.
    case notDownloaded

    /// The step that brings the node to rest.
    package var nextStep: NextStep {
        switch self {
        case .inProgress, .notReported, .leaving, .transferring, .unreachable(.changing): .automatic
        case .paused: .command("ferry resume")
        case .transferPaused: .command("ferry transfers resume")
        case .rootHeld, .serverHeld: .command("ferry rebind")
        case .unreachable(.unreadable): .repair("Let your user read it.")
        case .unreachable(.wrongKind): .repair("Put the file itself there.")
        case .unreachable(.malformed): .repair("Correct the file.")
        case .heldForReview: .command("ferry deletes")
        case .rejected: .repair("Correct the file, or undo the change.")
        case .notPermitted: .repair("Undo the change, or ask the owner of the list.")
        case .invited: .command("ferry invitations")
        case .notEmpty: .repair("Move the other files out of the directory.")
        case .nameTaken(let name): .repair("Rename the other file \(name).")
        case .transferFailed: .command("ferry transfers resume")
        case .notDownloaded: .command("ferry pin")
        }
    }
}

/// The step after which a node comes to rest.
package enum NextStep: Hashable, Sendable {
    /// Nothing that a user could do; it is tried again.
    case automatic
    /// A command that the user can run.
    case command(String)
    /// Something that the user has to change.
    case repair(String)
}
