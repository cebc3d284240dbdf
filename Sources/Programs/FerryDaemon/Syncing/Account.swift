import AccountClient
import Control
import DocumentClient
import HTTPClient
import HTTPMessages
import IdentityProtocol
import JSON
import ObjectStorage
import SystemIO
import SystemService
import TaskModel

/// The account of this machine, and its server.
actor Account {
    private let state: StateDirectory
    private let discovery: Discovery
    private let session: AccountSession
    private let providers: ProviderSignIns
    private let logger: Logger
    private var server: ServerDescription?
    private var lastToken: String?
    /// A counter that grows at the start and at the end of a password change, so that it is odd
    /// while one is in progress.
    private var passwordChanges = 0
    /// The reason why syncing waits while the server has another set of accounts than that of the
    /// session; see `findOtherAccounts`.
    private(set) var otherAccounts: String?
    private var lastKeys: (accessKey: String, time: ContinuousClock.Instant)?

    /// Loads the session of an earlier run, if there is one.
    init(state: StateDirectory, http: HTTPClient, logger: Logger) throws {
        self.state = state
        self.logger = logger
        discovery = Discovery(http: http)
        providers = ProviderSignIns(http: http)
        session = try Self.load(state, http, logger)
        let bytes = try? FileSystem.readIfPresent(state.server, limit: 64 << 10)
        server = (bytes ?? nil).flatMap { try? JSON(parsing: $0) }.flatMap(ServerDescription.init(remembered:))
    }

    /// Loads the session. If it cannot be read, the daemon still starts, so that it can report the
    /// problem.
    private static func load(_ state: StateDirectory, _ http: HTTPClient, _ logger: Logger) throws -> AccountSession {
        let file = SessionFile(path: state.session)
        do {
            if FileSystem.exists(state.session), try FileSystem.status(state.session).mode & 0o077 != 0 {
                logger.warning("the session was readable by others; its mode is 0600 again", ["path": state.session])
                try FileDescriptor(path: state.session, .read).changeMode(0o600)
            }
            return try AccountSession(file: file, http: http)
        } catch let error as IdentityError where error.code == .damagedFile {
            logger.error("the session was damaged and has been renamed; sign in again", ["path": state.session])
            try FileSystem.rename(state.session, to: state.session + ".damaged")
            return try AccountSession(file: file, http: http)
        }
    }

    /// The signed-in account; nil if no user is signed in.
    var current: AccountSummary? {
        get async {
            guard let content = await session.current else { return nil }
            return AccountSummary(userID: content.userID, email: content.email, server: serverName(content))
        }
    }

    /// The signed-in user, or `UserID.alone`.
    var user: UserID {
        get async { await session.current.map { UserID($0.userID) } ?? .alone }
    }

    private func serverName(_ content: SessionFile.Content) -> String {
        server.flatMap { $0.identity == content.server ? $0.url : nil } ?? content.server
    }

    /// Whether the description of the session's server is stored here.
    var knowsServer: Bool {
        get async { await session.current.map { $0.server == server?.identity } ?? false }
    }

    /// Returns the description of the session's server, from the stored one or, if that does not
    /// match, from the server.
    func describeServer() async throws -> ServerDescription {
        guard let content = await session.current else { throw Self.nobody }
        if let server, server.identity == content.server { return server }
        let found = try await discovery.describe(content.server)
        try remember(found)
        return found
    }

    /// Requests the server's description again. Returns whether any part has moved.
    func refreshServer() async throws -> Bool {
        guard let old = server, let found = try? await discovery.describe(old.url), found != old, server == old else {
            return false
        }
        guard found.project == old.project, found.database == old.database, !found.hasOtherAccounts(than: old) else {
            return false
        }
        try remember(found)
        return found.parts != old.parts
    }

    private func remember(_ found: ServerDescription) throws {
        try FileSystem.replace(state.server, with: found.json.bytes, mode: 0o600)
        server = found
    }

    // MARK: Signing in and out

    /// Signs in. Waits for the network. An anonymous sign-in to the server of the current account
    /// keeps that account.
    ///
    /// - Parameter owner: The account that the tasks directory belongs to; nil if it belongs to
    ///   none.
    /// - Throws: `ControlError` with `.conflict` if the owner is another permanent account and the
    ///   request does not have `merges`.
    func signIn(_ request: SignInRequest, directory: String, of owner: UserID?) async throws -> AccountSummary {
        let found = try await discovery.describe(request.server)
        let current = await session.current
        let accept = await acceptance(of: owner, directory: directory, merges: request.merges)
        // The tasks of this account, if they are accepted, come along.
        let brings = owner != nil && owner == current.map { UserID($0.userID) }
        do {
            let password = request.password ?? ""
            if let code = request.code {
                try await session.signIn(
                    server: found.identity, code: code, password: password, bringsObjects: brings, accepting: accept)
            } else if let email = request.email, request.create {
                do { try accept(nil) } catch let conflict {
                    // If an account with this address exists, perhaps the one that the tasks belong
                    // to, that is the more helpful error.
                    let exists = IdentityError(.emailExists, "The address has an account.")
                    do {
                        try await session.signIn(
                            server: found.identity, email: email, password: password, accepting: { _ in throw exists })
                    } catch let error as IdentityError where error.code == .emailExists {
                        throw error
                    } catch {}
                    throw conflict
                }
                try await session.signUp(
                    server: found.identity, email: email, password: password, invitation: request.invitation,
                    bringsObjects: brings)
            } else if let email = request.email {
                try await session.signIn(
                    server: found.identity, email: email, password: password, bringsObjects: brings, accepting: accept)
            } else if current?.server != found.identity {
                try accept(nil)
                try await session.signInAnonymously(server: found.identity, invitation: request.invitation)
            }
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
        try remember(found)
        otherAccounts = nil
        guard let account = await self.current else { throw Self.nobody }
        return account
    }

    /// Returns the check whether an account may be signed in to while the tasks directory belongs to
    /// `owner`.
    private func acceptance(
        of owner: UserID?, directory: String, merges: Bool
    ) async -> @Sendable (String?) throws -> Void {
        let current = await session.current
        // The tasks of an anonymous account of this machine continue in the account that is signed
        // in to.
        let anonymous = current.map { $0.email == nil ? UserID($0.userID) : nil } ?? lastAnonymous
        let isAnonymous = owner != nil && owner == anonymous
        return { user in
            guard let owner, owner != user.map({ UserID($0) }), !merges, !isAnonymous else { return }
            let name = current.flatMap { UserID($0.userID) == owner ? $0.email : nil } ?? owner.rawValue
            throw ControlError(
                .conflict, "The tasks in \(directory) belong to another account (\(name)); nothing was changed.",
                hint:
                    "--merge adds them to this account and uploads them. To keep them apart, give this account a directory "
                    + "of its own: 'tasks: DIRECTORY' in ferryd.yaml.")
        }
    }

    /// Begins a sign-in with an OpenID provider.
    func beginSignIn(_ request: ProviderSignInRequest) async throws -> ProviderSignIn {
        do {
            if request.links {
                guard let content = await session.current else { throw Self.nobody }
                return try await providers.begin(request, at: content.server)
            }
            guard let server = request.server else { throw ControlError(.invalidArgument, "The server is missing.") }
            var request = request
            let found = try await discovery.describe(server)
            request.server = found.url
            return try await providers.begin(request, at: found.identity)
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    /// Waits until the user has signed in at the provider, and signs in or links.
    ///
    /// - Parameter owner: The account that the tasks directory belongs to; nil if it belongs to
    ///   none.
    func finishSignIn(
        _ decision: ProviderSignInDecision, directory: String, of owner: UserID?
    ) async throws -> AccountSummary {
        let (request, identityServer) = try await providers.request(of: decision.id)
        let session = session
        do {
            if request.links, !decision.signsIn {
                try await providers.finish(decision.id) { try await session.link($0) }
            } else {
                let accept = await acceptance(of: owner, directory: directory, merges: decision.merges)
                let current = await session.current
                let brings = owner != nil && owner == current.map { UserID($0.userID) }
                try await providers.finish(decision.id) { credential in
                    try await session.signIn(
                        server: identityServer, with: credential, invitation: request.invitation, bringsObjects: brings,
                        accepting: accept)
                }
                if let url = request.server { try remember(try await discovery.describe(url)) }
                otherAccounts = nil
            }
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
        guard let account = await current else { throw Self.nobody }
        return account
    }

    /// Changes the account's name, or removes a provider from it.
    func change(name: String?, removing provider: String?) async throws {
        do { try await session.update(displayName: name, removing: provider) } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    func changePassword(from old: String, to new: String) async throws {
        passwordChanges += 1
        defer { passwordChanges += 1 }
        do { try await session.changePassword(from: old, to: new) } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    /// Returns what the account uses and may use; nil if the server does not report it.
    func usage() async throws -> AccountUsageSummary? {
        do {
            guard let quota = try await session.quota() else { return nil }
            return AccountUsageSummary(
                objectBytes: quota.used.objectBytes, objectBytesLimit: quota.allowed.objectBytes,
                documents: quota.used.documents, documentsLimit: quota.allowed.documents,
                requestsPerSecondLimit: quota.allowed.requestsPerSecond)
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    func morningMail() async throws -> MorningMailSummary? {
        do {
            return try await session.morningMail().map {
                MorningMailSummary(minute: $0.minute, zone: $0.zone, waitsForAddress: $0.waitsForAddress)
            }
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    func setMorningMail(_ mail: MorningMailSummary?) async throws {
        do {
            try await session.setMorningMail(mail.map { MorningMailTime(minute: $0.minute, zone: $0.zone) })
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
    }

    func link(email: String, password: String) async throws -> AccountSummary {
        do { try await session.link(email: email, password: password) } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
        guard let account = await current else { throw Self.nobody }
        return account
    }

    func signOut() async throws {
        let content = await session.current
        try await session.signOut()
        if let content, content.email == nil {
            try FileSystem.replace(state.lastAnonymous, with: Array(content.userID.utf8), mode: 0o600)
        }
        (lastToken, lastKeys) = (nil, nil)
    }

    /// Returns the id of another account of the server, by its e-mail address or its id.
    func userID(of user: String) async throws -> UserID {
        guard user.contains("@") else { return UserID(user) }
        do {
            if let id = try await session.userID(of: user) { return UserID(id) }
        } catch let error as IdentityError {
            throw ControlError(signingIn: error).caused(by: error)
        }
        throw ControlError(
            .notFound, "No account on the server has the address '\(user)'.",
            hint: "The other user needs an account there: ferry login URL --email \(user) --create")
    }

    static let nobody = ControlError(
        .needsSignIn, "Nobody is signed in.",
        hint: "ferry setup URL, or ferry login URL, with the address that the server prints.")

    // MARK: Credentials

    /// Returns a token for the document server.
    func token(isRefused: Bool) async throws -> String? {
        let changes = passwordChanges
        do {
            if isRefused, let lastToken { await session.reject(idToken: lastToken) }
            let token = try await session.idToken()
            lastToken = token
            otherAccounts = nil
            return token
        } catch let error as IdentityError {
            // The old session ends slightly before the new one arrives.
            if error.code.needsLogin, changes != passwordChanges || !changes.isMultiple(of: 2) {
                throw RemoteError(.transient, "The password is being changed.", cause: error)
            }
            if error.code.needsLogin, let reason = await findOtherAccounts() {
                throw RemoteError(.transient, reason, cause: error)
            }
            throw RemoteError(error.code.needsLogin ? .unauthenticated : .transient, error.message, cause: error)
        }
    }

    /// Returns keys for the object server.
    func storageKeys() async throws -> S3Credentials {
        do {
            // The store asks once a minute. An earlier request means that it refused the keys.
            if let last = lastKeys, .now - last.time < Self.keysInterval / 2 {
                await session.reject(storageAccessKey: last.accessKey)
            }
            let keys = try await session.storageCredential()
            lastKeys = (keys.accessKey, .now)
            // The session knows the end of the keys by a monotonic clock. The store should
            // therefore ask it often, which costs nothing.
            let ask = Self.keysInterval + Self.keysMargin
            return S3Credentials(
                accessKey: keys.accessKey, secretKey: keys.secretKey, sessionToken: keys.sessionToken,
                expires: Clocks.wallSeconds() + ask.components.seconds)
        } catch let error as IdentityError {
            if error.code.needsLogin, let reason = await findOtherAccounts() {
                throw ObjectStorageError(.transient, reason, cause: error)
            }
            let code: ObjectStorageError.Code = error.code.needsLogin ? .permission : .transient
            throw ObjectStorageError(code, error.message, cause: error)
        }
    }

    /// The anonymous account that this machine was last signed out of. It cannot be signed in to
    /// again, so its tasks continue in the next account.
    private var lastAnonymous: UserID? {
        guard let bytes = try? FileSystem.readIfPresent(state.lastAnonymous, limit: 1024) else { return nil }
        return String(validating: bytes, as: UTF8.self).map { UserID($0) }
    }

    /// Checks whether the accounts of the session are back on the server, if they were missing.
    func lookForAccounts() async {
        if otherAccounts != nil { _ = await findOtherAccounts() }
    }

    /// Returns the reason to keep the session although the server does not know it, or nil.
    ///
    /// The session is kept if the server has another set of accounts than when the session was
    /// opened. In that case the server's data was probably replaced by an empty directory or is not
    /// mounted yet, and will come back.
    private func findOtherAccounts() async -> String? {
        guard let known = server, let found = try? await discovery.describe(known.url),
            found.hasOtherAccounts(than: known)
        else {
            otherAccounts = nil
            return nil
        }
        let reason =
            "The server at \(known.url) does not know this account; it may have been started with an empty data directory."
        if otherAccounts == nil { logger.error("\(reason)") }
        otherAccounts = reason
        return reason
    }

    private static let keysInterval = Duration.seconds(60)
    /// The time before their expiration at which the store replaces keys.
    private static let keysMargin = Duration.seconds(300)
}

extension ControlError {
    /// Creates the error that explains a failed sign-in to the user.
    init(signingIn error: IdentityError) {
        switch error.code {
        case .invalidCredentials:
            self.init(
                .permissionDenied, error.message,
                hint: "Check both and try again; --create creates a new account.")
        case .emailExists:
            self.init(.invalidArgument, error.message, hint: "Leave out --create.")
        case .invalidEmail, .weakPassword, .invalidRequest: self.init(.invalidArgument, error.message)
        case .signUpRestricted:
            self.init(
                .permissionDenied, error.message,
                hint: "With an invitation: ferry login URL --email ADDRESS --create --invite CODE")
        case .invalidCode, .badProviderCredential: self.init(.permissionDenied, error.message)
        case .alreadyLinked: self.init(.alreadyThere, error.message)
        case .userDisabled, .notAllowed: self.init(.permissionDenied, error.message)
        case .tooManyAttempts: self.init(.unavailable, error.message, isRetryable: true)
        case .offline:
            self.init(
                .offline, error.message, hint: "Check the network, and that ferry-server runs there.",
                isRetryable: true)
        case .notSignedIn, .invalidToken, .tokenExpired, .loginTooOld, .userNotFound, .damagedFile:
            self.init(.needsSignIn, error.message, hint: "ferry login URL")
        default: self.init(.internal, error.message)
        }
    }
}
