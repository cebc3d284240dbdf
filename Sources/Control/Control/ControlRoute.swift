/// The calls of the socket: a method and a path below `/v1/`. The client creates them and the
/// server matches them.
///
/// Each component of a path is percent-encoded, so that a task may be named by the path of its
/// file.
enum ControlRoute: Hashable {
    case status
    case tasks
    case addTask
    case addTasks
    case removeTasks
    case task(String)
    case changeTask(String)
    case lists
    case share(list: String)
    case unshare(list: String)
    case invitations
    case answerInvitation(String, InvitationAnswer)
    case blocks
    case block
    case unblock(String)
    case attach(task: String)
    case detach(task: String, attachment: String)
    case fetch(task: String, attachment: String)
    case pin(task: String)
    case transfers
    case changeTransfers(TransferAction)
    case sync
    case plan
    case pause
    case rebind
    case deletes
    case decideDeletes(DeleteDecision)
    case trash
    case restore
    case conflicts
    case resolveConflicts(ConflictDecision)
    case history(task: String)
    case explanation(task: String)
    case undo
    case reminders
    case devices
    case health
    case log
    case configuration
    case checkConfiguration
    case account
    case signIn
    case beginSignIn
    case finishSignIn
    case changeAccount
    case link
    case changePassword
    case usage
    case morningMail
    case setMorningMail
    case signOut
    case events

    /// Matches a request; nil if there is no such call.
    init?(method: String, segments: [String]) {
        guard segments.first == "v1" else { return nil }
        let parts = segments.dropFirst()
        let rest = Array(parts.dropFirst())
        switch (method, parts.first, rest.count) {
        case ("GET", "status", 0): self = .status
        case ("GET", "tasks", 0): self = .tasks
        case ("POST", "tasks", 0): self = .addTask
        case ("POST", "tasks", 1) where rest[0] == "batch": self = .addTasks
        case ("GET", "tasks", 1): self = .task(rest[0])
        case ("PATCH", "tasks", 1): self = .changeTask(rest[0])
        case ("POST", "tasks", 2) where rest[1] == "attachments": self = .attach(task: rest[0])
        case ("DELETE", "tasks", 3) where rest[1] == "attachments": self = .detach(task: rest[0], attachment: rest[2])
        case ("POST", "tasks", 4) where rest[1] == "attachments" && rest[3] == "fetch":
            self = .fetch(task: rest[0], attachment: rest[2])
        case ("PUT", "tasks", 2) where rest[1] == "pinned": self = .pin(task: rest[0])
        case ("POST", "trash", 0): self = .removeTasks
        case ("GET", "trash", 0): self = .trash
        case ("POST", "trash", 1) where rest[0] == "restore": self = .restore
        case ("GET", "lists", 0): self = .lists
        case ("POST", "lists", 2) where rest[1] == "users": self = .share(list: rest[0])
        case ("DELETE", "lists", 2) where rest[1] == "users": self = .unshare(list: rest[0])
        case ("GET", "invitations", 0): self = .invitations
        case ("POST", "invitations", 2):
            guard let answer = InvitationAnswer(rawValue: rest[1]) else { return nil }
            self = .answerInvitation(rest[0], answer)
        case ("GET", "blocks", 0): self = .blocks
        case ("POST", "blocks", 0): self = .block
        case ("DELETE", "blocks", 1): self = .unblock(rest[0])
        case ("GET", "transfers", 0): self = .transfers
        case ("POST", "transfers", 1):
            guard let action = TransferAction(rawValue: rest[0]) else { return nil }
            self = .changeTransfers(action)
        case ("POST", "sync", 0): self = .sync
        case ("GET", "sync", 0): self = .plan
        case ("PUT", "paused", 0): self = .pause
        case ("POST", "rebind", 0): self = .rebind
        case ("GET", "deletes", 0): self = .deletes
        case ("POST", "deletes", 1):
            guard let decision = DeleteDecision(rawValue: rest[0]) else { return nil }
            self = .decideDeletes(decision)
        case ("GET", "conflicts", 0): self = .conflicts
        case ("POST", "conflicts", 1):
            guard let decision = ConflictDecision(rawValue: rest[0]) else { return nil }
            self = .resolveConflicts(decision)
        case ("GET", "tasks", 2) where rest[1] == "history": self = .history(task: rest[0])
        case ("GET", "tasks", 2) where rest[1] == "explanation": self = .explanation(task: rest[0])
        case ("POST", "undo", 0): self = .undo
        case ("GET", "reminders", 0): self = .reminders
        case ("GET", "devices", 0): self = .devices
        case ("GET", "health", 0): self = .health
        case ("GET", "log", 0): self = .log
        case ("GET", "configuration", 0): self = .configuration
        case ("POST", "configuration", 1) where rest[0] == "check": self = .checkConfiguration
        case ("GET", "account", 0): self = .account
        case ("PUT", "account", 0): self = .signIn
        case ("DELETE", "account", 0): self = .signOut
        case ("PATCH", "account", 0): self = .changeAccount
        case ("POST", "account", 1) where rest[0] == "provider": self = .beginSignIn
        case ("PUT", "account", 1) where rest[0] == "provider": self = .finishSignIn
        case ("POST", "account", 1) where rest[0] == "link": self = .link
        case ("POST", "account", 1) where rest[0] == "password": self = .changePassword
        case ("GET", "account", 1) where rest[0] == "usage": self = .usage
        case ("GET", "account", 1) where rest[0] == "mail": self = .morningMail
        case ("PUT", "account", 1) where rest[0] == "mail": self = .setMorningMail
        case ("GET", "events", 0): self = .events
        default: return nil
        }
    }

    var method: String {
        switch self {
        case .status, .tasks, .task, .lists, .transfers, .deletes, .trash, .conflicts, .history, .explanation, .devices,
            .plan, .health, .log, .configuration, .account, .usage, .events, .invitations, .blocks, .reminders,
            .morningMail:
            "GET"
        case .changeTask, .changeAccount: "PATCH"
        case .pause, .pin, .signIn, .finishSignIn, .setMorningMail: "PUT"
        case .detach, .signOut, .unshare, .unblock: "DELETE"
        case .addTask, .addTasks, .removeTasks, .share, .attach, .fetch, .changeTransfers, .sync, .rebind,
            .decideDeletes, .restore, .resolveConflicts, .undo, .checkConfiguration, .link, .beginSignIn,
            .changePassword, .answerInvitation, .block:
            "POST"
        }
    }

    /// The decoded components of the path.
    var segments: [String] {
        let parts: [String] =
            switch self {
            case .status: ["status"]
            case .tasks, .addTask: ["tasks"]
            case .addTasks: ["tasks", "batch"]
            case .task(let task), .changeTask(let task): ["tasks", task]
            case .attach(let task): ["tasks", task, "attachments"]
            case .detach(let task, let attachment): ["tasks", task, "attachments", attachment]
            case .fetch(let task, let attachment): ["tasks", task, "attachments", attachment, "fetch"]
            case .pin(let task): ["tasks", task, "pinned"]
            case .removeTasks, .trash: ["trash"]
            case .restore: ["trash", "restore"]
            case .lists: ["lists"]
            case .share(let list), .unshare(let list): ["lists", list, "users"]
            case .invitations: ["invitations"]
            case .answerInvitation(let id, let answer): ["invitations", id, answer.rawValue]
            case .blocks, .block: ["blocks"]
            case .unblock(let user): ["blocks", user]
            case .transfers: ["transfers"]
            case .changeTransfers(let action): ["transfers", action.rawValue]
            case .sync, .plan: ["sync"]
            case .pause: ["paused"]
            case .rebind: ["rebind"]
            case .deletes: ["deletes"]
            case .decideDeletes(let decision): ["deletes", decision.rawValue]
            case .conflicts: ["conflicts"]
            case .resolveConflicts(let decision): ["conflicts", decision.rawValue]
            case .history(let task): ["tasks", task, "history"]
            case .explanation(let task): ["tasks", task, "explanation"]
            case .undo: ["undo"]
            case .reminders: ["reminders"]
            case .devices: ["devices"]
            case .health: ["health"]
            case .log: ["log"]
            case .configuration: ["configuration"]
            case .checkConfiguration: ["configuration", "check"]
            case .account, .signIn, .signOut, .changeAccount: ["account"]
            case .beginSignIn, .finishSignIn: ["account", "provider"]
            case .link: ["account", "link"]
            case .changePassword: ["account", "password"]
            case .usage: ["account", "usage"]
            case .morningMail, .setMorningMail: ["account", "mail"]
            case .events: ["events"]
            }
        return ["v1"] + parts
    }
}
