import Control
import DocumentClient
import Glibc
import HTTPClient
import HTTPMessages
import JSON
import SystemIO
import TaskModel
import TaskSync

/// What `ferry` and other programs ask over the control socket.
final class DaemonService: ControlService {
    let configuration: DaemonConfiguration
    let engine: SyncEngine
    let identity: Account
    let hub: EventHub
    let http: HTTPClient
    let recentLog: RecentLog
    /// The settings as flags, environment and file say them now, or with a draft in the file's place.
    let readSettings: @Sendable (ConfigurationReader.Draft?) throws -> [ConfigurationReader.Entry]

    init(
        configuration: DaemonConfiguration, engine: SyncEngine, account: Account, hub: EventHub, http: HTTPClient,
        recentLog: RecentLog,
        readSettings: @escaping @Sendable (ConfigurationReader.Draft?) throws -> [ConfigurationReader.Entry]
    ) {
        self.configuration = configuration
        self.engine = engine
        identity = account
        self.hub = hub
        self.http = http
        self.recentLog = recentLog
        self.readSettings = readSettings
    }

    /// The stack of the account that is signed in.
    /// - Throws: `ControlError` where there is none.
    func stack() async throws -> SyncStack {
        if let stack = await engine.stack { return stack }
        guard await identity.current != nil else { throw Account.nobody }
        if let trouble = await engine.trouble {
            throw ControlError(
                .unavailable, "Syncing has stopped: \(trouble.message)", hint: trouble.hint, isRetryable: true)
        }
        throw ControlError(.unavailable, "The daemon is starting.", hint: "Try again in a moment.", isRetryable: true)
    }

    /// Runs a command of the bridge and says what its errors mean to whoever asked.
    func asking<Result: Sendable>(_ body: (TaskSync) async throws -> Result) async throws -> Result {
        let stack = try await stack()
        do {
            return try await body(stack.sync)
        } catch let error as TaskSyncError {
            switch error.code {
            case .notFound: throw ControlError(.notFound, error.message)
            case .invalid: throw ControlError(.invalidArgument, error.message)
            case .tooLarge:
                throw ControlError(
                    .tooLarge, error.message,
                    hint: "'ferry attachments TASK' shows what is attached, 'ferry detach' takes it off.")
            case .exists: throw ControlError(.alreadyThere, error.message)
            case .noSpace: throw ControlError(.noSpace, error.message, hint: "Make room and attach it again.")
            case .offline: throw ControlError(.offline, error.message, hint: "ferry doctor", isRetryable: true)
            case .refused: throw ControlError(.permissionDenied, error.message)
            case .held:
                throw ControlError(.unavailable, error.message, hint: "'ferry status' says what helps.")
            }
        } catch let error as TaskFileProblem {
            let text = error.description
            throw ControlError(
                error.code == .tooLarge ? .tooLarge : .invalidArgument,
                text.prefix(1).uppercased() + text.dropFirst() + ".")
        } catch let error as SystemError {
            throw ControlError(error).caused(by: error)
        }
    }

    func events(after lastEventID: UInt64?) async throws -> AsyncThrowingStream<ControlEvent, any Error> {
        hub.events(after: lastEventID, status: try await status().json)
    }

    // MARK: Account

    func signIn(_ request: SignInRequest) async throws -> AccountSummary {
        let before = await identity.current
        let account = try await identity.signIn(
            request, directory: configuration.tasks, of: engine.directoryAccount)
        if before == account, let stack = await engine.stack {
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

extension ControlError {
    init(_ error: SystemError) {
        let code: Code =
            switch error.code {
            case .notFound: .notFound
            case .notPermitted, .readOnly: .permissionDenied
            case .noSpace: .noSpace
            case .tooLarge: .tooLarge
            default: .internal
            }
        self.init(code, error.message, hint: error.remedy, isRetryable: error.isTransient)
    }
}
