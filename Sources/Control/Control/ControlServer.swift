package import HTTPMessages
import JSON

/// A request on the socket, independent of the server that received it.
package struct ControlRequest: Sendable {
    let method: HTTPMethod
    let target: HTTPTarget
    let headers: HTTPHeaders
    let body: HTTPBody

    package init(_ method: HTTPMethod, _ target: HTTPTarget, headers: HTTPHeaders = [:], body: HTTPBody = .none) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// Serves a `ControlService` over HTTP: it converts requests, results, errors and events.
///
/// Only the user of the daemon and root may use it; other users get `permission-denied`. Every
/// response has the header field `Ferry-Version`.
package struct ControlServer: Sendable {
    private let service: any ControlService
    private let version: String
    private let allowedUsers: Set<UInt32>

    /// Creates a server.
    ///
    /// - Parameter userID: The user of the daemon.
    package init(_ service: any ControlService, version: String, userID: UInt32) {
        self.service = service
        self.version = version
        allowedUsers = [userID, 0]
    }

    /// Handles a request on the socket.
    ///
    /// - Parameter user: The peer's user, from the credentials of its connection; nil if the kernel
    ///   gave none.
    package func respond(to request: ControlRequest, from user: UInt32?) async -> HTTPResponse {
        var response: HTTPResponse
        do {
            guard let user, allowedUsers.contains(user) else {
                throw ControlError(.permissionDenied, "This daemon serves its own user and root only.")
            }
            response = try await answer(request)
        } catch let error as ControlError {
            response = .json(error.json, status: HTTPStatus(rawValue: error.httpStatus))
        } catch {
            response = .json(ControlError(.internal, "\(error)").json, status: .internalServerError)
        }
        response.headers["Ferry-Version"] = version
        return response
    }

    private func answer(_ request: ControlRequest) async throws -> HTTPResponse {
        guard let route = ControlRoute(method: request.method.rawValue, segments: request.target.segments) else {
            throw ControlError(.notFound, "There is no call \(request.method) \(request.target.path).")
        }
        switch route {
        case .events: return try await events(after: request.headers["Last-Event-ID"].flatMap { UInt64($0) })
        case .tasks: return .json(try await service.tasks(TaskFilter(query: request.target.query)).body)
        default: break
        }
        let bytes = try await request.body.collect(limit: ControlLimit.bodyBytes)
        let body: JSON
        do { body = bytes.isEmpty ? .object([:]) : try JSON(parsing: bytes) } catch {
            throw ControlError(.invalidArgument, "The request's body is \(error.description).")
        }
        return .json(try await result(of: route, body: body))
    }

    private func result(of route: ControlRoute, body: JSON) async throws -> JSON {
        switch route {
        case .status: try await service.status().json
        case .task(let task): try await service.task(task).json
        case .addTask: try await service.add(TaskChange(json: body)).json
        case .addTasks: document("results", try await service.add(body.list("tasks")).json)
        case .changeTask(let task): try await service.change(task, TaskChange(json: body)).json
        case .removeTasks:
            document("tasks", try await service.remove(body.strings("tasks"), confirmed: body.flag("confirmed")).json)
        case .lists: document("lists", try await service.lists().json)
        case .share(let list): try await service.share(list, with: body.string("user")).json
        case .unshare(let list): try await service.unshare(list, from: body["user"]?.stringValue).json
        case .invitations: document("invitations", try await service.invitations().json)
        case .answerInvitation(let id, let answer): try await service.answerInvitation(id, answer).json
        case .blocks: document("blocks", try await service.blocks().json)
        case .block: document("blocks", try await service.setBlocked(body.string("user"), true).json)
        case .unblock(let user): document("blocks", try await service.setBlocked(user, false).json)
        case .attach(let task):
            document("transfers", try await service.attach(task, body.list("files")).json)
        case .detach(let task, let attachment): try await done(service.detach(task, attachment: attachment))
        case .fetch(let task, let attachment): try await service.fetch(task, attachment: attachment).json
        case .pin(let task):
            document("transfers", try await service.setPinned(task, body.flag("pinned")).json)
        case .transfers: document("transfers", try await service.transfers().json)
        case .changeTransfers(let action):
            document("transfers", try await service.changeTransfers(action, ids: body.strings("ids")).json)
        case .sync:
            try await service.sync(
                wait: body.flag("wait"), timeout: .milliseconds(body["timeoutMilliseconds"]?.integerValue ?? 60_000)
            ).json
        case .rebind: try await service.rebind().json
        case .plan: try await service.plan().json
        case .pause: try await service.setPaused(body.flag("paused")).json
        case .deletes: document("deletes", try await service.heldDeletes().json)
        case .decideDeletes(let decision):
            document("deletes", try await service.decideDeletes(decision, tasks: body.strings("tasks")).json)
        case .trash:
            try await Self.document(service.trash())
        case .restore: document("tasks", try await service.restore(body.strings("tasks")).json)
        case .conflicts: document("conflicts", try await service.conflicts().json)
        case .resolveConflicts(let decision):
            document("conflicts", try await service.resolveConflicts(decision, ids: body.strings("ids")).json)
        case .history(let task): document("history", try await service.history(task).json)
        case .explanation(let task): try await service.explanation(task).json
        case .undo:
            document(
                "undone", try await service.undo(body["task"]?.stringValue, isTrial: body.flag("trial")).json)
        case .reminders: try await service.reminders().json
        case .devices: document("devices", try await service.devices().json)
        case .health: document("checks", try await service.health().json)
        case .log: document("log", try await service.log().json)
        case .configuration: document("settings", try await service.configuration().json)
        case .checkConfiguration:
            document(
                "settings", try await service.checkConfiguration(body.string("text"), named: body.string("name")).json)
        case .account: try await service.account().json
        case .signIn: try await service.signIn(SignInRequest(json: body)).json
        case .beginSignIn: try await service.beginSignIn(ProviderSignInRequest(json: body)).json
        case .finishSignIn: try await service.finishSignIn(ProviderSignInDecision(json: body)).json
        case .changeAccount:
            try await done(
                service.changeAccount(name: body["name"]?.stringValue, removing: body["provider"]?.stringValue))
        case .link:
            try await service.link(email: body.string("email"), password: body.string("password")).json
        case .changePassword:
            try await done(service.changePassword(from: body.string("old"), to: body.string("new")))
        case .usage: document("usage", try await service.usage()?.json ?? .null)
        case .morningMail: document("mail", try await service.morningMail()?.json ?? .null)
        case .setMorningMail:
            try await done(
                service.setMorningMail(
                    body["mail"].flatMap { $0.isNull ? nil : $0 }.map { mail throws(ControlError) in
                        try MorningMailSummary(json: mail)
                    }))
        case .signOut: try await done(service.signOut())
        case .tasks, .events: .null
        }
    }

    private func document(_ key: String, _ value: JSON) -> JSON { .members(("schemaVersion", 1), (key, value)) }

    /// Tasks are apart from attachments, so that a program that knows only tasks finds nothing else.
    private static func document(_ trash: [TrashedTask]) -> JSON {
        .members(("schemaVersion", 1), ("trash", trash.tasks.json), ("attachments", trash.attachments.json))
    }

    private func done(_: Void) -> JSON { .object([:]) }

    private func events(after lastEventID: UInt64?) async throws -> HTTPResponse {
        let events = try await service.events(after: lastEventID)
        return .serverSentEvents(
            events.map { ServerSentEvent(data: $0.data.text, event: $0.kind.rawValue, id: String($0.id)) })
    }
}

extension HTTPResponse {
    static func json(_ json: JSON, status: HTTPStatus = .ok) -> HTTPResponse {
        .json(.bytes(json.bytes), status: status)
    }

    static func json(_ body: HTTPBody, status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "application/json"], body: body)
    }
}

extension TaskFilter {
    /// Creates a filter from `?word=…&text=…&list=…&tag=…&completed=true&due=…&priority=…&sort=…
    /// &today=…`. Unknown items are ignored.
    init(query: [HTTPTarget.QueryItem]) {
        self.init()
        for item in query {
            let value = item.value ?? ""
            switch item.name {
            case "word": words.append(value)
            case "text": texts.append(value)
            case "list": list = value
            case "tag": tags.append(value)
            case "completed": isCompleted = value == "true"
            case "due": due = value
            case "priority": priorities += TaskSummary.Priority(rawValue: value).map { [$0] } ?? []
            case "sort": sort = value
            case "today": today = value
            default: break
            }
        }
    }

    var query: [(String, String)] {
        var items = words.map { ("word", $0) } + texts.map { ("text", $0) } + tags.map { ("tag", $0) }
        if let list { items.append(("list", list)) }
        if let isCompleted { items.append(("completed", isCompleted ? "true" : "false")) }
        if let due { items.append(("due", due)) }
        items += priorities.map { ("priority", $0.rawValue) }
        if let sort { items.append(("sort", sort)) }
        if let today { items.append(("today", today)) }
        return items
    }
}
