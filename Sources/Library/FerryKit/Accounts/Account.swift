import IdentityProtocol

/// The account that is signed in, and how it changes.
///
/// An anonymous account needs nothing of the user. Linked with a credential, it becomes a lasting
/// one under the same id, so that all documents stay.
public actor Account {
    private let service: (any AccountService)?
    private let changes = Broadcast<User?>(nil)
    private weak var ferry: Ferry?
    private var isChanging = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(service: (any AccountService)?) { self.service = service }

    func attach(to ferry: Ferry) async {
        self.ferry = ferry
        changes.send(await user)
    }

    /// The user who is signed in; nil if nobody is. Known without a network.
    public var user: User? {
        get async { await service?.current.map { User($0) } }
    }

    /// The user who is signed in, now and after each change.
    public nonisolated var users: AsyncStream<User?> { changes.stream }

    /// Creates an anonymous account, unless somebody is signed in, whose account is then returned.
    @discardableResult public func signInAnonymously() async throws(AccountError) -> User {
        try await changing { service in
            if await service.current == nil { try await service.signInAnonymously() }
        }
    }

    /// Signs in to an account. The documents of the account before stay on this machine, and are
    /// shown again when it is signed in to.
    @discardableResult public func signIn(with credential: Credential) async throws(AccountError) -> User {
        try await changing { service in
            switch credential {
            case .password(let email, let password): try await service.signIn(email: email, password: password)
            }
        }
    }

    /// Creates an account with a credential and signs in to it.
    @discardableResult public func signUp(with credential: Credential) async throws(AccountError) -> User {
        try await changing(credential) { service in
            switch credential {
            case .password(let email, let password): try await service.signUp(email: email, password: password)
            }
        }
    }

    /// Gives the anonymous account a credential, with which it can be signed in to elsewhere.
    ///
    /// - Throws: `AccountError.credentialInUse` if another account has it.
    @discardableResult public func link(with credential: Credential) async throws(AccountError) -> User {
        try await changing(credential) { service in
            switch credential {
            case .password(let email, let password): try await service.link(email: email, password: password)
            }
        }
    }

    /// Sets the name that the user is shown with; nil for none.
    @discardableResult public func setDisplayName(_ name: String?) async throws(AccountError) -> User {
        try await changing { try await $0.setDisplayName(name) }
    }

    /// Signs out on this machine.
    ///
    /// - Parameter erasing: whether the documents of the account are removed from this machine,
    ///   with the writes that the server does not have.
    public func signOut(erasing: Bool = false) async throws(AccountError) {
        let before = await user
        do {
            _ = try await changing { try await $0.signOut() }
        } catch .notSignedIn {}
        guard erasing, let before else { return }
        do { try ferry?.erase(userID: before.id) } catch { throw .refused("\(error)") }
    }

    /// Deletes the account on the server, and its documents on this machine. Documents on the server
    /// are not deleted.
    ///
    /// - Throws: `AccountError.needsRecentSignIn` if the sign-in is long ago.
    public func delete() async throws(AccountError) {
        let before = await user
        do {
            _ = try await changing { try await $0.delete() }
        } catch .notSignedIn {}
        guard let before else { return }
        do { try ferry?.erase(userID: before.id) } catch { throw .refused("\(error)") }
    }

    /// Runs a change of the account, one at a time, and opens the documents of the account after it.
    private func changing(
        _ credential: Credential? = nil, _ body: (any AccountService) async throws -> Void
    ) async throws(AccountError) -> User {
        guard let service else { throw .refused("This server has no accounts.") }
        while isChanging { await withCheckedContinuation { waiting.append($0) } }
        isChanging = true
        defer {
            isChanging = false
            let next = waiting
            waiting = []
            for continuation in next { continuation.resume() }
        }
        do {
            let before = await service.current
            try await body(service)
            let after = await service.current
            if before?.id != after?.id { try await ferry?.startSession() }
            changes.send(after.map { User($0) })
            guard let after else { throw AccountError.notSignedIn }
            return User(after)
        } catch let error as AccountError {
            throw error
        } catch let error as IdentityError {
            throw AccountError(error, credential)
        } catch {
            throw .offline(FerryError.describing(error))
        }
    }
}

/// A user of the server.
public struct User: Identifiable, Hashable, Sendable {
    /// The id, which stays the same when an anonymous account is linked.
    public let id: String
    /// The e-mail address; nil for an anonymous account.
    public let email: String?
    /// The name that the user is shown with.
    public let displayName: String?

    init(_ record: AccountRecord) {
        id = record.id
        email = record.email
        displayName = record.displayName
    }

    /// Whether the account has no credential, so that it is lost with this machine.
    public var isAnonymous: Bool { email == nil }
}

/// What proves to the server who a user is.
public enum Credential: Sendable, Hashable {
    /// An e-mail address and its password.
    case password(email: String, String)
}

/// Why an account could not be signed in to or changed.
public enum AccountError: Error, Sendable, CustomStringConvertible {
    /// Another account has the credential. Sign in with it instead.
    case credentialInUse(Credential)
    /// The address or the password is wrong.
    case wrongCredential
    /// Nobody is signed in, or the session has ended.
    case notSignedIn
    /// The change needs a sign-in of the last minutes.
    case needsRecentSignIn
    /// The server allows no more attempts for a while.
    case tooManyAttempts
    /// The server cannot be reached.
    case offline(any Error)
    /// The server refuses, for the reason given.
    case refused(String)

    init(_ error: IdentityError, _ credential: Credential?) {
        switch (error.code, credential) {
        case (.emailExists, let credential?): self = .credentialInUse(credential)
        case (.invalidCredentials, _): self = .wrongCredential
        case (.notSignedIn, _), (.tokenExpired, _), (.invalidToken, _), (.userNotFound, _): self = .notSignedIn
        case (.loginTooOld, _): self = .needsRecentSignIn
        case (.tooManyAttempts, _): self = .tooManyAttempts
        case (.offline, _): self = .offline(error)
        default: self = .refused(error.message)
        }
    }

    /// The error in one sentence.
    public var description: String {
        switch self {
        case .credentialInUse: "Another account has this credential; sign in with it instead."
        case .wrongCredential: "The e-mail address or the password is wrong."
        case .notSignedIn: "Nobody is signed in."
        case .needsRecentSignIn: "Sign in again; this change needs a recent sign-in."
        case .tooManyAttempts: "There were too many attempts; try again later."
        case .offline(let error): "The server cannot be reached: \(error)"
        case .refused(let reason): reason
        }
    }
}
