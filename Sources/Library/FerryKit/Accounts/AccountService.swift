package import AccountClient
import DocumentClient
import DocumentModel
import IdentityProtocol
import ObjectStorage
import SystemIO

/// The accounts of a server, and the one that is signed in on this machine.
///
/// All calls throw `IdentityError`, `AccountError` or `CancellationError`.
package protocol AccountService: Sendable {
    /// The account that is signed in; nil if nobody is.
    var current: AccountRecord? { get async }

    func signInAnonymously() async throws
    func signIn(with credential: Credential) async throws
    func signUp(with credential: Credential) async throws
    /// Turns the anonymous account into one with a credential, under the same id.
    func link(with credential: Credential) async throws
    /// Has a mail sent to an address.
    func send(_ mail: AccountMail, to email: String, continueURL: String?) async throws
    /// Removes a provider from the account.
    func unlink(_ provider: String) async throws
    func setDisplayName(_ name: String?) async throws
    /// Ends the session on this machine.
    func signOut() async throws
    /// Removes the account from the server, and ends the session.
    func delete() async throws

    /// Signs in to an account beside the current one, which stays signed in until `adopt`.
    func prepare(_ credential: Credential) async throws -> AccountRecord
    /// Copies the content of the current account's files to the prepared one.
    func copyFiles() async throws
    /// Makes the prepared account the current one.
    ///
    /// - Parameter deletingCurrent: whether the account that was the current one is deleted.
    func adopt(deletingCurrent: Bool) async throws
}

/// An account that is signed in.
package struct AccountRecord: Sendable, Hashable {
    package var id: String
    package var email: String?
    package var displayName: String?
    /// The providers whose credentials sign in to the account, as far as this machine knows.
    package var providers: [String]

    package init(id: String, email: String?, displayName: String? = nil, providers: [String] = []) {
        self.id = id
        self.email = email
        self.displayName = displayName
        self.providers = providers
    }

    /// Whether the account has no credential, as far as this machine knows.
    var isAnonymous: Bool { email == nil && providers.isEmpty }
}

/// The accounts of a `ferry-server`, or of Firebase. The session is kept in a file of mode 0600.
actor SessionAccountService: AccountService {
    private let directory: String
    private var session: AccountSession
    /// The session of an account that is about to become the current one, and what it was opened with.
    private var prepared: (session: AccountSession, credential: Credential)?
    private let server: @Sendable () async throws -> String
    private let profile: ProfileFile
    private let environment: Environment
    private var lastToken: String?
    private var lastKeys: (accessKey: String, time: Duration)?

    private static let keysInterval = Duration.seconds(60)
    /// The time before their end at which the store replaces keys.
    private static let keysMargin = Duration.seconds(300)

    private let tokens: String?
    private let key: String
    private let files: FileKeeping

    /// Where the files of accounts are.
    enum FileKeeping {
        /// At the server, which copies them from one account to another.
        case atServer
        /// In a bucket that the app has keys to.
        case inBucket
        case nowhere
    }

    /// Loads the session of an earlier run.
    ///
    /// - Parameters:
    ///   - tokens: the URL of the server that refreshes tokens; nil for the same.
    ///   - key: the API key of the project.
    ///   - files: where the files of accounts are.
    ///   - server: returns the URL of the identity server.
    init(
        directory: String, tokens: String? = nil, key: String = "ferry", files: FileKeeping = .atServer,
        environment: Environment = .system, server: @escaping @Sendable () async throws -> String
    ) throws {
        self.directory = directory
        (self.tokens, self.key, self.files) = (tokens, key, files)
        session = try Self.session(Self.current(directory), tokens, key)
        profile = ProfileFile(path: "\(directory)/profile.json")
        self.server = server
        self.environment = environment
    }

    private static func current(_ directory: String) -> String { "\(directory)/session.json" }

    private static func session(_ path: String, _ tokens: String?, _ key: String) throws -> AccountSession {
        do { return try AccountSession(file: SessionFile(path: path), tokens: tokens, key: key) } catch let error
            as IdentityError
        {
            throw FerryError(.storage, error.message, cause: error)
        }
    }

    var current: AccountRecord? {
        get async {
            guard let content = await session.current else { return nil }
            let profile = profile.load(content.userID)
            return AccountRecord(
                id: content.userID, email: content.email, displayName: profile.name, providers: profile.providers)
        }
    }

    func signInAnonymously() async throws { try await session.signInAnonymously(server: try await server()) }

    func signIn(with credential: Credential) async throws { try await signIn(session, with: credential) }

    private func signIn(_ session: AccountSession, with credential: Credential) async throws {
        switch credential {
        case .password(let email, let password):
            try await session.signIn(server: try await server(), email: email, password: password)
        case .openID(let provider, let idToken, let nonce):
            let proof = ProviderCredential(provider: provider, proof: .idToken(idToken), nonce: nonce)
            try check(try await session.signIn(server: try await server(), with: proof), credential)
        case .emailLink(let email, let link):
            try await session.signIn(server: try await server(), email: email, mailCode: Self.code(link))
        case .customToken(let token): try await session.signIn(server: try await server(), customToken: token)
        }
        try await note(credential, session)
    }

    func signUp(with credential: Credential) async throws {
        guard case .password(let email, let password) = credential else { return try await signIn(with: credential) }
        try await session.signUp(server: try await server(), email: email, password: password)
        try await note(credential, session)
    }

    /// The code of a link, or that which its page has shown.
    private static func code(_ link: String) -> String { AccountMail.signInCode(in: link) ?? link }

    func send(_ mail: AccountMail, to email: String, continueURL: String?) async throws {
        try await session.send(mail, to: email, continueURL: continueURL, server: try await server())
    }

    func link(with credential: Credential) async throws {
        switch credential {
        case .emailLink(let email, let link): try await session.link(email: email, mailCode: Self.code(link))
        case .customToken:
            throw AccountError.refused("A custom token says which account it signs in to, and cannot be linked.")
        case .password(let email, let password): try await session.link(email: email, password: password)
        case .openID(let provider, let idToken, let nonce):
            let proof = ProviderCredential(provider: provider, proof: .idToken(idToken), nonce: nonce)
            try check(try await session.link(proof), credential)
        }
        try await note(credential, session)
    }

    /// Throws why a credential of a provider has not signed in.
    private func check(_ answer: ProviderAnswer?, _ credential: Credential) throws {
        switch answer {
        case nil, .signedIn?: break
        case .inUse?: throw AccountError.credentialInUse(credential)
        case .needsConfirmation(let email)?:
            throw AccountError.refused(
                "The account of \(email) is not linked to this provider. Sign in to it and link it.")
        case .pending?: throw AccountError.refused("The provider has not confirmed the sign-in.")
        }
    }

    private func note(_ credential: Credential, _ session: AccountSession) async throws {
        guard let user = await session.current?.userID else { return }
        try profile.change(user) { profile in
            if !profile.providers.contains(credential.provider) { profile.providers.append(credential.provider) }
        }
    }

    func unlink(_ provider: String) async throws {
        try await session.update(removing: provider)
        guard let user = await session.current?.userID else { return }
        try profile.change(user) { $0.providers.removeAll { $0 == provider } }
    }

    func setDisplayName(_ name: String?) async throws {
        try await session.setDisplayName(name)
        guard let user = await session.current?.userID else { return }
        try profile.change(user) { $0.name = name }
    }

    // MARK: Changing accounts

    private var next: String { "\(directory)/next-session.json" }

    func prepare(_ credential: Credential) async throws -> AccountRecord {
        // A link in a mail cannot be used again by a call that is repeated.
        if case .emailLink = credential, let prepared, prepared.credential == credential,
            let content = await prepared.session.current
        {
            return AccountRecord(id: content.userID, email: content.email)
        }
        // What an interrupted call has left.
        _ = try FileSystem.remove(next)
        let session = try Self.session(next, tokens, key)
        try await signIn(session, with: credential)
        guard let content = await session.current else { throw AccountError.notSignedIn }
        prepared = (session, credential)
        return AccountRecord(id: content.userID, email: content.email)
    }

    func copyFiles() async throws {
        switch files {
        case .atServer: try await prepared?.session.copyObjects(of: session)
        case .inBucket:
            throw AccountError.refused("The files are in a bucket of your own, and cannot be moved to another account.")
        case .nowhere: break
        }
    }

    func adopt(deletingCurrent: Bool) async throws {
        guard let user = await prepared?.session.current?.userID else { throw AccountError.notSignedIn }
        let providers = profile.load(user).providers
        // An account that stays has no documents, and nobody can sign in to it.
        if deletingCurrent { try? await session.deleteAccount() }
        try FileSystem.rename(next, to: Self.current(directory))
        session = try Self.session(Self.current(directory), tokens, key)
        prepared = nil
        lastToken = nil
        lastKeys = nil
        try profile.change(user) { $0.providers = providers }
    }

    func signOut() async throws {
        try await session.signOut()
        lastToken = nil
    }

    func delete() async throws {
        try await session.deleteAccount()
        lastToken = nil
    }

    /// Returns keys for the files.
    func storageKeys() async throws -> S3Credentials {
        do {
            // The store asks once a minute. An earlier question means that it refused the keys.
            let now = environment.now()
            if let lastKeys, now - lastKeys.time < Self.keysInterval / 2 {
                await session.reject(storageAccessKey: lastKeys.accessKey)
            }
            let keys = try await session.storageCredential()
            lastKeys = (keys.accessKey, environment.now())
            // The session knows the end of the keys by a monotonic clock, and is asked often.
            let end = environment.wallClock() / 1000 + (Self.keysInterval + Self.keysMargin).components.seconds
            return S3Credentials(
                accessKey: keys.accessKey, secretKey: keys.secretKey, sessionToken: keys.sessionToken, expires: end)
        } catch let error as IdentityError {
            let code: ObjectStorageError.Code = error.code.needsLogin ? .permission : .transient
            throw ObjectStorageError(code, error.message, cause: error)
        }
    }

    /// Returns a token for the documents.
    func token(isRefused: Bool) async throws -> String? {
        do {
            if isRefused, let lastToken { await session.reject(idToken: lastToken) }
            let token = try await session.idToken()
            lastToken = token
            return token
        } catch let error as IdentityError {
            throw RemoteError(error.code.needsLogin ? .unauthenticated : .transient, error.message, cause: error)
        }
    }
}
