import HTTPMessages
import JSON
import SystemIO

/// The client of the daemon's socket.
///
/// All errors of the daemon and of the connection are `ControlError`; the code is `not-running` if
/// no daemon listens on the socket.
package struct ControlClient: ControlService {
    private let socketPath: String

    /// Creates a client. It connects at each call.
    package init(socketPath: String) {
        self.socketPath = socketPath
    }

    package func status() async throws -> DaemonStatus { try DaemonStatus(json: try await send(.status)) }

    package func tasks(_ filter: TaskFilter) async throws -> TaskListing {
        TaskListing(body: try await answer(to: .tasks, nil, query: filter.query))
    }

    package func task(_ task: String) async throws -> TaskDetail { try TaskDetail(json: try await send(.task(task))) }

    package func add(_ change: TaskChange) async throws -> TaskSummary {
        try TaskSummary(json: try await send(.addTask, change.json))
    }

    package func add(_ changes: [TaskChange]) async throws -> [AddResult] {
        let results: [AddResult] = try await send(.addTasks, .members(("tasks", changes.json))).list("results")
        guard results.count == changes.count else {
            throw ControlError.unreadable(ControlError.malformed("there must be a result for each task"))
        }
        return results
    }

    package func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary {
        try TaskSummary(json: try await send(.changeTask(task), change.json))
    }

    package func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary] {
        let body: JSON = .members(("tasks", tasks.asJSON), ("confirmed", confirmed.asJSON))
        return try await send(.removeTasks, body).list("tasks")
    }

    package func lists() async throws -> [ListSummary] { try await send(.lists).list("lists") }

    package func share(_ list: String, with user: String) async throws -> ListSummary {
        try ListSummary(json: try await send(.share(list: list), .members(("user", user.asJSON))))
    }

    package func unshare(_ list: String, from user: String?) async throws -> ListSummary {
        try ListSummary(json: try await send(.unshare(list: list), .members(("user", user?.asJSON))))
    }

    package func invitations() async throws -> [InvitationSummary] {
        try await send(.invitations).list("invitations")
    }

    package func answerInvitation(
        _ invitation: String, _ answer: InvitationAnswer
    ) async throws -> InvitationSummary {
        try InvitationSummary(json: try await send(.answerInvitation(invitation, answer), .object([:])))
    }

    package func blocks() async throws -> [BlockSummary] { try await send(.blocks).list("blocks") }

    package func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary] {
        let answer =
            isBlocked ? try await send(.block, .members(("user", user.asJSON))) : try await send(.unblock(user))
        return try answer.list("blocks")
    }

    package func attach(_ task: String, _ files: [FileToAttach]) async throws -> [TransferSummary] {
        try await send(.attach(task: task), .members(("files", files.json))).list("transfers")
    }

    package func detach(_ task: String, attachment: String) async throws {
        _ = try await send(.detach(task: task, attachment: attachment))
    }

    package func fetch(_ task: String, attachment: String) async throws -> TransferSummary {
        try TransferSummary(json: try await send(.fetch(task: task, attachment: attachment), .object([:])))
    }

    package func setPinned(_ task: String, _ isPinned: Bool) async throws -> [TransferSummary] {
        try await send(.pin(task: task), .members(("pinned", isPinned.asJSON))).list("transfers")
    }

    package func transfers() async throws -> [TransferSummary] { try await send(.transfers).list("transfers") }

    package func changeTransfers(_ action: TransferAction, ids: [String]) async throws -> [TransferSummary] {
        try await send(.changeTransfers(action), .members(("ids", ids.asJSON))).list("transfers")
    }

    package func sync(wait: Bool, timeout: Duration) async throws -> DaemonStatus {
        let (seconds, attoseconds) = timeout.components
        let milliseconds = seconds.saturatingMultiplied(by: 1000)
            .saturatingAdded(to: attoseconds / 1_000_000_000_000_000)
        let body: JSON = .members(("wait", wait.asJSON), ("timeoutMilliseconds", milliseconds.asJSON))
        return try DaemonStatus(json: try await send(.sync, body))
    }

    package func rebind() async throws -> DaemonStatus { try DaemonStatus(json: try await send(.rebind)) }

    package func plan() async throws -> SyncPlan { try SyncPlan(json: try await send(.plan)) }

    package func setPaused(_ isPaused: Bool) async throws -> DaemonStatus {
        try DaemonStatus(json: try await send(.pause, .members(("paused", isPaused.asJSON))))
    }

    package func heldDeletes() async throws -> [HeldDelete] { try await send(.deletes).list("deletes") }

    package func decideDeletes(_ decision: DeleteDecision, tasks: [String]) async throws -> [HeldDelete] {
        try await send(.decideDeletes(decision), .members(("tasks", tasks.asJSON))).list("deletes")
    }

    package func trash() async throws -> [TrashedTask] {
        let answer = try await send(.trash)
        return try answer.list("trash") + answer.list("attachments")
    }

    package func restore(_ tasks: [String]) async throws -> [TaskSummary] {
        try await send(.restore, .members(("tasks", tasks.asJSON))).list("tasks")
    }

    package func conflicts() async throws -> [ConflictSummary] { try await send(.conflicts).list("conflicts") }

    package func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary] {
        try await send(.resolveConflicts(decision), .members(("ids", ids.asJSON))).list("conflicts")
    }

    package func history(_ task: String) async throws -> [ConflictSummary] {
        try await send(.history(task: task)).list("history")
    }

    package func explanation(_ task: String) async throws -> TaskExplanation {
        try TaskExplanation(json: try await send(.explanation(task: task)))
    }

    package func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary] {
        try await send(.undo, .members(("task", task?.asJSON), ("trial", isTrial.asJSON))).list("undone")
    }

    package func reminders() async throws -> ReminderListing { try ReminderListing(json: try await send(.reminders)) }

    package func devices() async throws -> [DeviceSummary] { try await send(.devices).list("devices") }

    package func health() async throws -> [HealthCheck] { try await send(.health).list("checks") }

    package func log() async throws -> [LogLine] { try await send(.log).list("log") }

    package func configuration() async throws -> [SettingSummary] {
        try await send(.configuration).list("settings")
    }

    package func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary] {
        try await send(.checkConfiguration, .members(("text", text.asJSON), ("name", name.asJSON))).list("settings")
    }

    package func signIn(_ request: SignInRequest) async throws -> AccountSummary {
        try AccountSummary(json: try await send(.signIn, request.json))
    }

    package func beginSignIn(_ request: ProviderSignInRequest) async throws -> ProviderSignIn {
        try ProviderSignIn(json: try await send(.beginSignIn, request.json))
    }

    package func finishSignIn(_ decision: ProviderSignInDecision) async throws -> AccountSummary {
        try AccountSummary(json: try await send(.finishSignIn, decision.json))
    }

    package func changeAccount(name: String?, removing provider: String?) async throws {
        _ = try await send(.changeAccount, .members(("name", name?.asJSON), ("provider", provider?.asJSON)))
    }

    package func link(email: String, password: String) async throws -> AccountSummary {
        let body: JSON = .members(("email", email.asJSON), ("password", password.asJSON))
        return try AccountSummary(json: try await send(.link, body))
    }

    package func changePassword(from old: String, to new: String) async throws {
        _ = try await send(.changePassword, .members(("old", old.asJSON), ("new", new.asJSON)))
    }

    package func usage() async throws -> AccountUsageSummary? {
        let answer = try await send(.usage)
        guard let usage = answer["usage"], !usage.isNull else { return nil }
        return try AccountUsageSummary(json: usage)
    }

    package func morningMail() async throws -> MorningMailSummary? {
        guard let mail = try await send(.morningMail)["mail"], !mail.isNull else { return nil }
        return try MorningMailSummary(json: mail)
    }

    package func setMorningMail(_ mail: MorningMailSummary?) async throws {
        _ = try await send(.setMorningMail, .members(("mail", mail?.json ?? .null)))
    }

    package func signOut() async throws { _ = try await send(.signOut) }

    package func account() async throws -> AccountSummary { try AccountSummary(json: try await send(.account)) }

    package func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error> {
        var headers: HTTPHeaders = ["Accept": "text/event-stream"]
        if let lastEventID { headers["Last-Event-ID"] = String(lastEventID) }
        let response = try await exchange(.events, headers: headers)
        guard response.status.isSuccess else { throw try await failure(response) }
        return AsyncThrowingStream { continuation in
            let reading = Task {
                do {
                    for try await event in ServerSentEvents(response.body) {
                        let kind = ControlEvent.Kind(rawValue: event.event) ?? .unknown
                        let id = event.id.flatMap { UInt64($0) } ?? 0
                        continuation.yield(ControlEvent(id: id, kind: kind, data: try JSON(parsing: event.data)))
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in reading.cancel() }
        }
    }

    private func send(_ route: ControlRoute, _ body: JSON? = nil) async throws -> JSON {
        do { return try JSON(parsing: try await answer(to: route, body).collect(limit: 256 << 20)) } catch let error
            as JSONError
        {
            throw ControlError.unreadable(error)
        } catch let error as HTTPError {
            throw ControlError.unreadable(error)
        }
    }

    private func answer(
        to route: ControlRoute, _ body: JSON?, query: [(String, String)] = []
    ) async throws -> HTTPBody {
        let headers: HTTPHeaders = body == nil ? [:] : ["Content-Type": "application/json"]
        let response = try await exchange(route, query: query, headers: headers, body: body?.bytes ?? [])
        guard response.status.isSuccess else { throw try await failure(response) }
        return response.body
    }

    private func exchange(
        _ route: ControlRoute, query: [(String, String)] = [], headers: HTTPHeaders, body: [UInt8] = []
    ) async throws -> HTTPResponse {
        let path = route.segments.map { PercentEncoding.encode($0) }.joined(separator: "/")
        let items = query.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        return try await ControlConnection.exchange(
            route.method, "/\(path)\(items.isEmpty ? "" : "?\(items)")", headers: headers, body: body,
            socketPath: socketPath)
    }

    private func failure(_ response: HTTPResponse) async throws -> ControlError {
        let bytes = try await response.body.collect(limit: 4 << 20)
        if let json = try? JSON(parsing: bytes), let error = ControlError(json: json) { return error }
        return ControlError(.internal, "The daemon answered with status \(response.status).")
    }
}
