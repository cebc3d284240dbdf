import Control
import Glibc
import HTTPMessages
import HTTPServer
import JSON
import Synchronization
import SystemTestKit
import Testing

private let usageAnswer = AccountUsageSummary(
    objectBytes: 1 << 40, objectBytesLimit: 2, documents: 3, documentsLimit: 4, requestsPerSecondLimit: 5)

private final class Desk: ControlService {
    let kept = Mutex<[TaskSummary]>([])

    private func find(_ task: String) throws -> TaskSummary {
        let found = kept.withLock { $0.filter { $0.id.hasPrefix(task) || $0.path == task || $0.title.contains(task) } }
        guard let first = found.first else { throw ControlError(.notFound, "No task '\(task)'.", hint: "ferry list") }
        guard found.count == 1 else { throw ControlError(.ambiguous, "'\(task)' is ambiguous.", candidates: found) }
        return first
    }

    func status() async throws -> DaemonStatus {
        var status = DaemonStatus(version: "1", state: .offline, tasksDirectory: "/t")
        status.reason = "no route"
        status.oldestPendingSeconds = 1.5
        status.problems = [Problem(code: "symlink", subject: "a.md", message: "is a link", hint: "remove it")]
        status.account = AccountSummary(userID: "u", email: nil, server: "http://s")
        return status
    }

    func tasks(_ filter: TaskFilter) async throws -> TaskListing {
        let found = kept.withLock { $0.filter { task in filter.words.allSatisfy { task.title.contains($0) } } }
        let page = Mutex<[TaskSummary]?>(found)
        return TaskListing { page.withLock { $0.take() } }
    }

    func task(_ task: String) async throws -> TaskDetail {
        TaskDetail(summary: try find(task), notes: "n\n", fields: ["k": "v"], remarks: ["odd"])
    }

    func add(_ changes: [TaskChange]) async throws -> [AddResult] {
        changes.map { change in
            guard change.importKey == nil else {
                return .refused(ControlError(.alreadyThere, "twice", candidates: kept.withLock { $0 }))
            }
            return .added(keep(change))
        }
    }

    private func keep(_ change: TaskChange) -> TaskSummary {
        let task = TaskSummary(
            id: "id\(kept.withLock { $0.count })", title: change.title ?? "", priority: change.priority ?? .none,
            due: change.due, tags: change.addTags, list: change.list ?? "", path: "\(change.title ?? "").md")
        kept.withLock { $0.append(task) }
        return task
    }

    func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary { try find(task) }
    func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary] { try tasks.map(find) }
    func share(_ list: String, with user: String) async throws -> ListSummary {
        ListSummary(id: "list1", name: list, openCount: 1, taskCount: 2, sharedWith: [user])
    }
    func unshare(_ list: String, from user: String?) async throws -> ListSummary {
        ListSummary(id: "list1", name: list, openCount: 1, taskCount: 2, owner: user)
    }
    func invitations() async throws -> [InvitationSummary] {
        [
            InvitationSummary(id: "a1", list: "L", from: "f", to: "t", isSent: false, time: "now"),
            InvitationSummary(id: "a2", list: "M", from: "t", to: "f", isSent: true, time: nil),
        ]
    }
    func answerInvitation(_ invitation: String, _ answer: InvitationAnswer) async throws -> InvitationSummary {
        InvitationSummary(id: invitation, list: answer.rawValue, from: "f", to: "t", isSent: false, time: nil)
    }
    func blocks() async throws -> [BlockSummary] { [BlockSummary(userID: "u", name: "n")] }
    func setBlocked(_ user: String, _ isBlocked: Bool) async throws -> [BlockSummary] {
        isBlocked ? [BlockSummary(userID: "id", name: user)] : []
    }
    func lists() async throws -> [ListSummary] { [ListSummary(id: "", name: "", openCount: 1, taskCount: 2)] }
    func attach(_ task: String, _ files: [FileToAttach]) async throws -> [TransferSummary] {
        files.map { file in
            TransferSummary(id: "t", direction: .upload, state: .queued, taskID: task, name: file.name ?? file.path)
        }
    }
    func detach(_ task: String, attachment: String) async throws {}
    func fetch(_ task: String, attachment: String) async throws -> TransferSummary {
        TransferSummary(id: "t", direction: .download, state: .done, taskID: task, name: attachment, bytesDone: 1 << 40)
    }
    func setPinned(_ task: String, _ isPinned: Bool) async throws -> [TransferSummary] {
        isPinned ? [TransferSummary(id: "t", direction: .download, state: .running, taskID: task, name: "a")] : []
    }

    func transfers() async throws -> [TransferSummary] { [] }
    func changeTransfers(_ action: TransferAction, ids: [String]) async throws -> [TransferSummary] {
        throw ControlError(.unsupported, "\(action) \(ids)")
    }
    func sync(wait: Bool, timeout: Duration) async throws -> DaemonStatus {
        throw ControlError(.timedOut, "\(wait) \(timeout)", isRetryable: true)
    }
    func plan() async throws -> SyncPlan {
        SyncPlan(
            remark: "paused",
            steps: [
                .init(action: "upload", subject: "A.files/é.txt", taskID: "a", detail: "new", size: 5),
                .init(action: "leave", subject: "b.md", taskID: nil, detail: nil, size: nil),
            ])
    }

    func reminders() async throws -> ReminderListing {
        ReminderListing(
            isEnabled: true, hasDesktop: false,
            reminders: [
                ReminderSummary(
                    taskID: "abc", title: "Call Anna", time: "2026-11-30T17:00:00Z", state: .waiting, isSnoozed: true,
                    note: "now")
            ])
    }

    func setPaused(_ isPaused: Bool) async throws -> DaemonStatus {
        DaemonStatus(version: "1", state: isPaused ? .paused : .running, tasksDirectory: "/t")
    }
    func rebind() async throws -> DaemonStatus {
        DaemonStatus(version: "1", state: .serverHeld, tasksDirectory: "/t")
    }
    func heldDeletes() async throws -> [HeldDelete] { [HeldDelete(taskID: "a", title: "b", list: "c", since: "d")] }
    func decideDeletes(_ decision: DeleteDecision, tasks: [String]) async throws -> [HeldDelete] { [] }
    func trash() async throws -> [TrashedTask] { [TrashedTask(taskID: "a", title: "b", list: "", deletedTime: nil)] }
    func restore(_ tasks: [String]) async throws -> [TaskSummary] { [] }
    func conflicts() async throws -> [ConflictSummary] { [] }
    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary] { [] }
    func history(_ task: String) async throws -> [ConflictSummary] {
        [
            ConflictSummary(
                id: "h", handle: "abcd", taskID: task, title: "t", field: "fields.a", label: "a", standing: "",
                displaced: "1",
                replacedTime: nil, replica: "r", device: "desk", displacedDevice: "laptop", displacedTime: "then",
                reason: "changedOnBothSides", explanation: "Both.", isOpen: false)
        ]
    }
    func explanation(_ task: String) async throws -> TaskExplanation {
        let field = FieldExplanation(
            field: "notes", label: "notes", value: "n", device: "desk", time: nil, rule: "merged", explanation: "e")
        return TaskExplanation(task: try find(task), fields: [field], remarks: ["odd"])
    }
    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary] {
        [UndoneSummary(taskID: task ?? "none", title: "t", effects: ["\(isTrial)"])]
    }
    func devices() async throws -> [DeviceSummary] {
        [DeviceSummary(id: "r", name: "desk", version: "1", lastSeen: nil, isThisOne: true)]
    }
    func health() async throws -> [HealthCheck] { [HealthCheck("disk", .failed, "full", remedy: "make room")] }
    func log() async throws -> [LogLine] { [LogLine(time: "now", level: "error", text: "a\nb")] }
    func configuration() async throws -> [SettingSummary] {
        [SettingSummary(key: "tasks", value: "/t", source: "flag")]
    }
    func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary] {
        throw ControlError(.invalidArgument, "\(name) \(text)")
    }
    func signIn(_ request: SignInRequest) async throws -> AccountSummary {
        AccountSummary(userID: request.password ?? "", email: request.email, server: request.server)
    }
    func beginSignIn(_ request: ProviderSignInRequest) async throws -> ProviderSignIn {
        ProviderSignIn(id: request.provider, url: request.server ?? "", userCode: request.invitation)
    }
    func finishSignIn(_ decision: ProviderSignInDecision) async throws -> AccountSummary {
        AccountSummary(userID: decision.id, email: "\(decision.merges) \(decision.signsIn)", server: "")
    }
    func changeAccount(name: String?, removing provider: String?) async throws {
        if name != "Ann" || provider != nil { throw ControlError(.permissionDenied, "no") }
    }
    func link(email: String, password: String) async throws -> AccountSummary {
        AccountSummary(userID: password, email: email, server: "")
    }
    func changePassword(from old: String, to new: String) async throws {
        if old != "old" || new != "new" { throw ControlError(.permissionDenied, "no") }
    }
    func usage() async throws -> AccountUsageSummary? { usageAnswer }
    func morningMail() async throws -> MorningMailSummary? {
        MorningMailSummary(minute: 450, zone: "Europe/Berlin", waitsForAddress: true)
    }
    func setMorningMail(_ mail: MorningMailSummary?) async throws {
        if let mail, mail != MorningMailSummary(minute: 5, zone: "UTC") { throw ControlError(.permissionDenied, "no") }
    }
    func signOut() async throws {}
    func account() async throws -> AccountSummary { throw ControlError(.needsSignIn, "no", hint: "ferry login URL") }
    func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error> {
        AsyncThrowingStream { continuation in
            let first = lastEventID ?? 0
            for id in first + 1...first + 3 {
                continuation.yield(ControlEvent(id: id, kind: .task, data: ["n": "a\nb"]))
            }
            continuation.finish()
        }
    }
}

@Suite struct ControlSocketTests {
    private func withSocket(_ body: (ControlClient) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let control = ControlServer(Desk(), version: "1.2.3", userID: getuid())
        let server = HTTPServer(.unix(path: directory.file("s"))) { request in
            await control.respond(
                to: ControlRequest(request.method, request.target, headers: request.headers, body: request.body),
                from: request.peer.credentials?.userID)
        }
        try server.start()
        do { try await body(ControlClient(socketPath: directory.file("s"))) } catch {
            Issue.record(error)
        }
        await server.stop()
    }

    @Test func `values cross the socket whole`() async throws {
        try await withSocket { client in
            let desk = Desk()
            let expected = try await desk.status()
            #expect(try await client.status() == expected)
            let change = TaskChange(
                title: "Büy 100 % \"milk\"/\u{1}", list: "Work", priority: .high, due: "2026-01-01", addTags: ["x"])
            let added = try await client.add(change)
            #expect(
                added.title == change.title && added.tags == ["x"] && added.priority == .high && added.list == "Work")
            #expect(try await client.task("Büy 100 % \"milk\"/\u{1}.md").summary == added)
            #expect(try await client.task("id0").fields == ["k": "v"])
            #expect(try await client.plan() == (try await Desk().plan()))
            #expect(try await client.tasks(TaskFilter(words: ["100 %", "m&i=l"])).summaries().isEmpty)
            #expect(try await client.tasks(TaskFilter(words: ["100 %"])).summaries() == [added])
            #expect(try await client.fetch("id0", attachment: "ä/b").bytesDone == 1 << 40)
            #expect(try await client.heldDeletes() == desk.heldDeletes())
            #expect(try await client.invitations() == desk.invitations())
            #expect(try await client.answerInvitation("ä/1", .decline) == desk.answerInvitation("ä/1", .decline))
            #expect(try await client.blocks() == desk.blocks())
            #expect(try await client.setBlocked("a/b@c", true) == desk.setBlocked("a/b@c", true))
            #expect(try await client.setBlocked("a/b@c", false).isEmpty)
            #expect(try await client.reminders() == (try await desk.reminders()))
            #expect(try await client.setPaused(true).state == .paused)
            #expect(try await client.rebind().state == .serverHeld)
            #expect(try await client.history("Ship 1.0") == desk.history("Ship 1.0"))
            #expect(try await client.explanation("id0").fields.first?.rule == "merged")
            #expect(try await client.undo(nil, isTrial: true) == desk.undo(nil, isTrial: true))
            #expect(try await client.undo("a", isTrial: false).first?.taskID == "a")
            #expect(try await client.devices() == desk.devices())
            #expect(try await client.health() == desk.health())
            #expect(try await client.log() == desk.log())
            #expect(try await client.configuration() == desk.configuration())
            await #expect(throws: ControlError(.invalidArgument, "f a: [\n")) {
                try await client.checkConfiguration("a: [\n", named: "f")
            }
            let account = try await client.signIn(SignInRequest(server: "http://s", email: "e", password: "p"))
            #expect(account == AccountSummary(userID: "p", email: "e", server: "http://s"))
            try await client.changePassword(from: "old", to: "new")
            #expect(try await client.usage() == usageAnswer)
            #expect(try await client.morningMail()?.time == "07:30")
            try await client.setMorningMail(nil)
            try await client.setMorningMail(MorningMailSummary(minute: 5, zone: "UTC"))
            try await client.signOut()
            let request = SignInRequest(
                server: "s", email: "e", password: "p", create: true, invitation: "i", code: "c", merges: true)
            #expect(try SignInRequest(json: request.json) == request)
        }
    }

    @Test func `errors keep code, hint and candidates`() async throws {
        try await withSocket { client in
            _ = try await client.add(TaskChange(title: "one"))
            _ = try await client.add(TaskChange(title: "one more"))
            await #expect(throws: ControlError(.notFound, "No task 'x'.", hint: "ferry list")) {
                try await client.task("x")
            }
            let error = await #expect(throws: ControlError.self) { try await client.task("one") }
            #expect(error?.code == .ambiguous && error?.candidates.count == 2)
            await #expect(throws: ControlError(.timedOut, "true 1.5 seconds", isRetryable: true)) {
                try await client.sync(wait: true, timeout: .milliseconds(1500))
            }
        }
    }

    @Test func `several tasks get a result each, in order`() async throws {
        try await withSocket { client in
            var known = TaskChange(title: "known")
            known.importKey = "k"
            let results = try await client.add([TaskChange(title: "one"), known, TaskChange(title: "two")])
            #expect(results.map { try? $0.get().title } == ["one", nil, "two"])
            guard case .refused(let error) = results[1] else { throw ControlError(.internal, "\(results)") }
            #expect(error.code == .alreadyThere && error.candidates.map(\.title) == ["one"])
            #expect(try await client.add([TaskChange]()).isEmpty)
            let single = await #expect(throws: ControlError.self) { try await client.add(known) }
            #expect(single?.code == .alreadyThere && single?.candidates.count == 2)
            #expect(try await client.tasks(TaskFilter()).summaries().map(\.title) == ["one", "two"])
        }
    }

    @Test func `events come in order and can be resumed`() async throws {
        try await withSocket { client in
            var ids: [UInt64] = []
            for try await event in try await client.events(after: 7) {
                ids.append(event.id)
                #expect(event.data["n"]?.stringValue == "a\nb" && event.kind == .task)
            }
            #expect(ids == [8, 9, 10])
        }
    }

    @Test(arguments: [(1000, 200), (0, 200), (1001, 403), (65_534, 403), (nil, 403)] as [(UInt32?, Int)])
    func `only the daemon's user and root are served`(user: UInt32?, status: Int) async throws {
        let control = ControlServer(Desk(), version: "1", userID: 1000)
        let request = ControlRequest(.get, try #require(HTTPTarget("/v1/status")))
        let response = await control.respond(to: request, from: user)
        #expect(response.status.rawValue == status && response.headers["Ferry-Version"] == "1")
    }

    @Test func `a missing daemon has a name and a remedy`() async throws {
        let error = await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: "/nonexistent/s").status()
        }
        #expect(error?.code == .notRunning && error?.hint?.contains("systemctl") == true)
    }
}
