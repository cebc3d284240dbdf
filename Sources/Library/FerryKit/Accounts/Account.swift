import AccountClient
import Cryptography
public import FoundationEssentials
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
        try await changing { service, _ in
            if await service.current == nil { try await service.signInAnonymously() }
        }
    }

    /// Signs in to an account. The documents of the account before stay on this machine, and are
    /// shown again when it is signed in to.
    ///
    /// An anonymous account cannot be signed in to again. `moving` takes its documents and files along:
    /// they get the other owner and keep their ids, so references to them stay valid. Documents are
    /// those of the models that the `Ferry` knows, with the user's id in `userId`.
    ///
    /// - Parameters:
    ///   - credential: the credential of the account.
    ///   - moving: what becomes of the documents of an anonymous account.
    /// - Throws: `AccountError`. If it was `offline` while documents were moved, repeat the call: it
    ///   continues where it stopped.
    @discardableResult public func signIn(
        with credential: Credential, moving: Moving = .nothing
    ) async throws(AccountError) -> User {
        try await changing(credential) { service, ferry in
            let before = await service.current
            guard let ferry, let before, before.isAnonymous, moving.mayMove else {
                return try await service.signIn(with: credential)
            }
            try await AccountMove(ferry: ferry, service: service).run(from: before, with: credential, moving)
        }
    }

    /// Sends a link to an address, with which its owner signs in without a password.
    ///
    /// The app gets the link back as the URL that opens it, or from the user, and completes the sign-in
    /// with `Credential.emailLink`. Keep the address until then, and do not take it from the link: only
    /// who has asked for the mail may use it. The answer is the same for an address without an account,
    /// which gets one by signing in.
    ///
    /// - Parameters:
    ///   - email: the address.
    ///   - url: the URL that opens the app or a page of it. Firebase requires one, of a domain that the
    ///     project lists. A `ferry-server` sends none but to itself and to loopback; without, the link
    ///     leads to a page of the server, which shows the code to copy into the app.
    public func sendSignInLink(to email: String, continuingAt url: URL? = nil) async throws(AccountError) {
        try await asking { try await $0.send(.signIn, to: email, continueURL: url?.absoluteString) }
    }

    /// Sends a link to an address, which leads to a page that sets the password of its account.
    public func sendPasswordReset(to email: String) async throws(AccountError) {
        try await asking { try await $0.send(.passwordReset, to: email, continueURL: nil) }
    }

    /// Whether a URL that has opened the app is the link of a mail, for `Credential.emailLink`.
    public static func isSignInLink(_ url: URL) -> Bool { AccountMail.signInCode(in: url.absoluteString) != nil }

    /// Creates an account with a credential and signs in to it.
    ///
    /// The new account has no documents. To keep those of an anonymous account, give it the credential
    /// with `link`.
    @discardableResult public func signUp(with credential: Credential) async throws(AccountError) -> User {
        try await changing(credential) { service, _ in try await service.signUp(with: credential) }
    }

    /// Gives the account a credential, with which it can be signed in to elsewhere.
    ///
    /// - Throws: `AccountError.credentialInUse` if another account has it. Sign in with it, and move the
    ///   documents of this account there.
    @discardableResult public func link(with credential: Credential) async throws(AccountError) -> User {
        try await changing(credential) { service, _ in try await service.link(with: credential) }
    }

    /// Removes the credential of a provider from the account: `password`, or the id of an OpenID
    /// provider.
    @discardableResult public func unlink(_ provider: String) async throws(AccountError) -> User {
        try await changing { service, _ in try await service.unlink(provider) }
    }

    /// Returns a random nonce for a sign-in with an OpenID provider, and its hash.
    ///
    /// Give the hash to the provider, and the nonce itself to `Credential.openID`. A token that was
    /// made for another sign-in is then refused.
    public static func nonce() -> (raw: String, sha256: String) {
        let raw = Hex.encode(RandomBytes.make(32))
        return (raw, SHA256.hash(raw).hex)
    }

    /// Sets the name that the user is shown with; nil for none.
    @discardableResult public func setDisplayName(_ name: String?) async throws(AccountError) -> User {
        try await changing { service, _ in try await service.setDisplayName(name) }
    }

    /// Signs out on this machine.
    ///
    /// - Parameter erasing: whether the documents of the account are removed from this machine,
    ///   with the writes that the server does not have.
    public func signOut(erasing: Bool = false) async throws(AccountError) {
        let before = await user
        do {
            _ = try await changing { service, _ in try await service.signOut() }
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
            _ = try await changing { service, _ in try await service.delete() }
        } catch .notSignedIn {}
        guard let before else { return }
        do { try ferry?.erase(userID: before.id) } catch { throw .refused("\(error)") }
    }

    /// Runs a call that changes nothing on this machine.
    private func asking(_ body: (any AccountService) async throws -> Void) async throws(AccountError) {
        guard let service else { throw Self.noAccounts }
        do { try await body(service) } catch { throw AccountError(any: error, nil) }
    }

    private static let noAccounts = AccountError.refused("This server has no accounts.")

    /// Runs a change of the account, one at a time, and opens the documents of the account after it.
    private func changing(
        _ credential: Credential? = nil, _ body: (any AccountService, Ferry?) async throws -> Void
    ) async throws(AccountError) -> User {
        guard let service else { throw Self.noAccounts }
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
            try await body(service, ferry)
            let after = await service.current
            if before?.id != after?.id { try await ferry?.startSession() }
            changes.send(after.map { User($0) })
            guard let after else { throw AccountError.notSignedIn }
            return User(after)
        } catch {
            throw AccountError(any: error, credential)
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
    /// The providers whose credentials sign in to the account, as far as this machine knows: `password`
    /// for an e-mail address, whether its owner proves it by a password or by a link in a mail;
    /// `custom` for tokens that your program makes; and the ids of OpenID providers.
    public let providers: [String]
    /// Whether the account has no credential, so that it is lost with this machine.
    public let isAnonymous: Bool

    init(_ record: AccountRecord) {
        id = record.id
        email = record.email
        displayName = record.displayName
        providers = record.providers
        isAnonymous = record.isAnonymous
    }
}

/// What proves to the server who a user is.
public enum Credential: Sendable, Hashable {
    /// An e-mail address and its password.
    case password(email: String, String)
    /// An ID token of an OpenID provider that the server knows, such as `apple.com`, with the nonce that
    /// the app has asked for; see `Account.nonce`.
    case openID(provider: String, idToken: String, nonce: String?)
    /// An e-mail address, and the link of the mail that `Account.sendSignInLink` has sent to it, or the
    /// code that the link's page shows. It can be used once, for an hour.
    case emailLink(email: String, String)
    /// A token that a program of yours has made with the key of a service account, for example with
    /// `create_custom_token` of Firebase's Admin SDK. It says which account it signs in to, so it
    /// cannot be linked to another one.
    case customToken(String)

    /// The provider of the credential.
    var provider: String {
        switch self {
        // An address has one provider, however its owner proves it.
        case .password, .emailLink: "password"
        case .openID(let provider, _, _): provider
        case .customToken: "custom"
        }
    }
}

/// What becomes of the documents and files of an anonymous account when another account is signed in
/// to.
public enum Moving: Sendable {
    /// They stay with the anonymous account.
    case nothing
    /// They are moved to the other account.
    case everything
    /// They are moved if a question to the user, which gets their number, is answered with true.
    case choose(@Sendable (_ documents: Int) async -> Bool)

    var mayMove: Bool { if case .nothing = self { false } else { true } }
}

/// Why an account could not be signed in to or changed.
public enum AccountError: Error, Sendable, CustomStringConvertible {
    /// Another account has the credential. Sign in with it instead.
    case credentialInUse(Credential)
    /// The address, the password or the token is wrong.
    case wrongCredential
    /// The link of the mail was used already, or has expired. Send another one.
    case expiredLink
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
        case (.invalidCredentials, _), (.badProviderCredential, _): self = .wrongCredential
        case (.invalidCode, .emailLink?): self = .expiredLink
        case (.notSignedIn, _), (.tokenExpired, _), (.invalidToken, _), (.userNotFound, _): self = .notSignedIn
        case (.loginTooOld, _): self = .needsRecentSignIn
        case (.tooManyAttempts, _): self = .tooManyAttempts
        case (.offline, _): self = .offline(error)
        default: self = .refused(error.message)
        }
    }

    init(any error: any Error, _ credential: Credential?) {
        switch error {
        case let error as AccountError: self = error
        case let error as IdentityError: self = AccountError(error, credential)
        default:
            let described = FerryError.describing(error)
            if let problem = described as? FerryError, !problem.isTransient {
                self = .refused(problem.message)
            } else {
                self = .offline(described)
            }
        }
    }

    /// The error in one sentence.
    public var description: String {
        switch self {
        case .credentialInUse: "Another account has this credential; sign in with it instead."
        case .wrongCredential: "The e-mail address, the password or the token is wrong."
        case .expiredLink: "The link was used already or has expired; send another one."
        case .notSignedIn: "Nobody is signed in."
        case .needsRecentSignIn: "Sign in again; this change needs a recent sign-in."
        case .tooManyAttempts: "There were too many attempts; try again later."
        case .offline(let error): "The server cannot be reached: \(error)"
        case .refused(let reason): reason
        }
    }
}
