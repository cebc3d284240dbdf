import Control
import DocumentClient
import HTTPClient
import TaskModel
import TaskSync

/// The service for `ferry` and other programs on the control socket.
final class DaemonService: ControlService {
    let configuration: DaemonConfiguration
    let engine: SyncEngine
    let identity: Account
    let hub: EventHub
    let http: HTTPClient
    let recentLog: RecentLog
    let reminderService: ReminderService
    /// Reads the settings again from flags, environment and file, or with a draft in place of the
    /// file.
    let readSettings: @Sendable (ConfigurationReader.Draft?) throws -> [ConfigurationReader.Entry]
    let access: SyncAccess
    let lookup: TaskLookup
    let reporter: StatusReporter

    init(
        configuration: DaemonConfiguration, engine: SyncEngine, account: Account, hub: EventHub, http: HTTPClient,
        recentLog: RecentLog, reminders: ReminderService,
        readSettings: @escaping @Sendable (ConfigurationReader.Draft?) throws -> [ConfigurationReader.Entry]
    ) {
        self.configuration = configuration
        self.engine = engine
        identity = account
        self.hub = hub
        self.http = http
        self.recentLog = recentLog
        reminderService = reminders
        self.readSettings = readSettings
        access = SyncAccess(engine: engine, account: account)
        lookup = TaskLookup(access: access, tasksDirectory: configuration.tasks)
        reporter = StatusReporter(access: access, tasksDirectory: configuration.tasks)
    }

    func stack() async throws -> SyncStack { try await access.stack() }

    func asking<Result: Sendable>(_ body: (TaskSync) async throws -> Result) async throws -> Result {
        try await access.asking(body)
    }

    func status() async throws -> DaemonStatus { try await reporter.status() }

    func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error> {
        hub.events(after: lastEventID, status: try await status().json)
    }

    // MARK: Account

    func signIn(_ request: SignInRequest) async throws -> AccountSummary {
        try await signingIn { try await identity.signIn(request, directory: configuration.tasks, of: $0) }
    }

    func beginSignIn(_ request: ProviderSignInRequest) async throws -> ProviderSignIn {
        try await identity.beginSignIn(request)
    }

    func finishSignIn(_ decision: ProviderSignInDecision) async throws -> AccountSummary {
        try await signingIn { try await identity.finishSignIn(decision, directory: configuration.tasks, of: $0) }
    }

    func changeAccount(name: String?, removing provider: String?) async throws {
        guard await identity.current != nil else { throw Account.nobody }
        try await identity.change(name: name, removing: provider)
    }

    /// Signs in, and syncs with the account from then on.
    ///
    /// - Parameter body: Signs in, unless the tasks directory belongs to the account that it gets.
    private func signingIn(_ body: (_ owner: UserID?) async throws -> AccountSummary) async throws -> AccountSummary {
        let before = await identity.current
        let account = try await body(engine.directoryAccount.flatMap { $0 == .alone ? nil : $0 })
        if before?.userID == account.userID, before?.server == account.server, let stack = await engine.stack {
            await stack.client.signedIn()
        } else {
            await engine.end()
            await engine.start(takesOver: true)
        }
        return account
    }

    func link(email: String, password: String) async throws -> AccountSummary {
        let account = try await identity.link(email: email, password: password)
        await engine.stack?.client.signedIn()
        hub.poke()
        return account
    }

    func changePassword(from old: String, to new: String) async throws {
        guard await identity.current != nil else { throw Account.nobody }
        try await identity.changePassword(from: old, to: new)
        await engine.stack?.client.signedIn()
    }

    func usage() async throws -> AccountUsageSummary? {
        guard await identity.current != nil else { throw Account.nobody }
        return try await identity.usage()
    }

    func morningMail() async throws -> MorningMailSummary? {
        guard await identity.current != nil else { throw Account.nobody }
        return try await identity.morningMail()
    }

    func setMorningMail(_ mail: MorningMailSummary?) async throws {
        guard await identity.current != nil else { throw Account.nobody }
        try await identity.setMorningMail(mail)
    }

    func signOut() async throws {
        guard await identity.current != nil else { throw Account.nobody }
        await engine.end()
        try await identity.signOut()
        hub.poke()
    }

    func account() async throws -> AccountSummary {
        guard let account = await identity.current else { throw Account.nobody }
        return account
    }
}
