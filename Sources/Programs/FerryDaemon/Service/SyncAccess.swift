import Control
import SystemIO
import TaskModel
import TaskSync

/// The running sync of the signed-in account, as the commands of the control socket need it.
struct SyncAccess: Sendable {
    let engine: SyncEngine
    let account: Account

    /// The stack of the account that is signed in, or one without a server before the first sign-in.
    ///
    /// - Throws: `ControlError` if there is none.
    func stack() async throws -> SyncStack {
        if let stack = await engine.stack { return stack }
        if await account.current == nil {
            await engine.startAlone()
            if let stack = await engine.stack { return stack }
            guard await engine.trouble != nil else { throw Account.nobody }
        }
        if let trouble = await engine.trouble {
            throw ControlError(
                .unavailable, "Syncing has stopped: \(trouble.message)", hint: trouble.hint, isRetryable: true)
        }
        throw ControlError(.unavailable, "The daemon is starting.", hint: "Try again in a moment.", isRetryable: true)
    }

    /// Runs a command of the sync and turns its errors into those of the control protocol.
    func asking<Result: Sendable>(_ body: (TaskSync) async throws -> Result) async throws -> Result {
        let stack = try await stack()
        do { return try await body(stack.sync) } catch { throw ControlError(translating: error) ?? error }
    }
}

extension ControlError {
    /// Creates the error of the control protocol for any error of a command.
    init(any error: any Error) {
        self = error as? ControlError ?? ControlError(translating: error) ?? ControlError(.internal, "\(error)")
    }

    /// Creates the error of the control protocol for an error of the sync that says what a user did
    /// wrong or can repair; nil for other errors.
    fileprivate init?(translating error: any Error) {
        switch error {
        case let error as TaskSyncError: self.init(error)
        case let error as TaskFileProblem:
            let text = error.description
            self.init(
                error.code == .tooLarge ? .tooLarge : .invalidArgument,
                text.prefix(1).uppercased() + text.dropFirst() + ".")
        case let error as SystemError: self = ControlError(error).caused(by: error)
        default: return nil
        }
    }

    private init(_ error: TaskSyncError) {
        switch error.code {
        case .notFound: self.init(.notFound, error.message)
        case .invalid: self.init(.invalidArgument, error.message)
        case .tooLarge:
            self.init(
                .tooLarge, error.message,
                hint: "'ferry attachments TASK' lists the attachments, 'ferry detach' removes one.")
        case .exists: self.init(.alreadyThere, error.message)
        case .noSpace: self.init(.noSpace, error.message, hint: "Free some space and attach it again.")
        case .offline: self.init(.offline, error.message, hint: "ferry doctor", isRetryable: true)
        case .refused: self.init(.permissionDenied, error.message)
        case .held: self.init(.unavailable, error.message, hint: "'ferry status' says what to do.")
        }
    }

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
