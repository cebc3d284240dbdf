package import HTTPClient
import HTTPMessages
package import IdentityProtocol

/// The signed-in account of a daemon. It provides ID tokens and storage keys with some remaining
/// lifetime, and requests new ones before they expire.
///
/// Lifetimes are taken from the server and measured with a monotonic clock, so a wrong system clock
/// does no harm. Concurrent callers share one refresh.
package actor AccountSession {
    private struct Timed<Value: Sendable>: Sendable {
        let value: Value
        let refreshAt: ContinuousClock.Instant
        let endsAt: ContinuousClock.Instant

        init(_ value: Value, lifetime: Duration, now: ContinuousClock.Instant) {
            self.value = value
            endsAt = now + lifetime
            refreshAt = endsAt - min(.seconds(300), lifetime / 5)
        }
    }

    private let file: SessionFile
    private let http: HTTPClient
    private let tokens: String?
    private let key: String
    private let now: @Sendable () -> ContinuousClock.Instant

    private var content: SessionFile.Content?
    private var token: Timed<String>?
    private var storage: Timed<TemporaryStorageCredential>?
    private var refreshing: Task<Void, any Error>?

    /// Loads the session of an earlier process, if there is one. Throws `.damagedFile`.
    ///
    /// - Parameters:
    ///   - tokens: As in `IdentityClient`.
    ///   - key: As in `IdentityClient`.
    package init(
        file: SessionFile, tokens: String? = nil, key: String = "ferry", http: HTTPClient = HTTPClient(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws {
        self.file = file
        self.tokens = tokens
        self.key = key
        self.http = http
        self.now = now
        content = try file.load()
    }

    /// The signed-in user and the server; nil if no user is signed in.
    package var current: SessionFile.Content? { content }

    // MARK: signing in and out

    /// Creates an anonymous account on the server, and signs in to it.
    package func signInAnonymously(server: String, invitation: String? = nil) async throws {
        let asked = now()
        let session = try await client(server).signUpAnonymously(invitation: invitation)
        try adopt(session, server: server, asked: asked)
    }

    /// Creates a permanent account on the server, and signs in to it.
    ///
    /// - Parameter bringsObjects: As in `signIn(server:email:password:bringsObjects:accepting:)`.
    package func signUp(
        server: String, email: String, password: String, invitation: String? = nil, bringsObjects: Bool = false
    ) async throws {
        let asked = now()
        let session = try await client(server).signUp(email: email, password: password, invitation: invitation)
        if bringsObjects { await copyObjects(to: session, server: server) }
        try adopt(session, server: server, asked: asked)
    }

    /// Signs in to an account.
    ///
    /// - Parameters:
    ///   - bringsObjects: Whether the attachments of the account that was signed in to before are
    ///     copied to the new one, if both are on the server.
    ///   - accepting: Called with the user's id; an error that it throws is rethrown, and the session
    ///     is not used.
    package func signIn(
        server: String, email: String, password: String, bringsObjects: Bool = false,
        accepting: (_ userID: String) throws -> Void = { _ in }
    ) async throws {
        let asked = now()
        let session = try await client(server).signIn(email: email, password: password)
        try accepting(session.userID)
        if bringsObjects { await copyObjects(to: session, server: server) }
        try adopt(session, server: server, asked: asked)
    }

    /// Sets the password of the account that a code is for, and signs in to it.
    ///
    /// - Parameter accepting: Called with the user's id before the code is used up; an error that
    ///   it throws is rethrown, and the session is not used.
    package func signIn(
        server: String, code: String, password: String, bringsObjects: Bool = false,
        accepting: (_ userID: String) throws -> Void = { _ in }
    ) async throws {
        let client = client(server)
        let (email, user) = try await client.account(passwordCode: code)
        try accepting(user)
        try await client.resetPassword(code: code, password: password)
        try await signIn(
            server: server, email: email, password: password, bringsObjects: bringsObjects, accepting: accepting)
    }

    /// Signs in with a credential of an OpenID provider.
    ///
    /// - Parameter accepting: Called with the user's id; an error that it throws is rethrown, and
    ///   the session is not used.
    /// - Returns: Nil if the user is signed in, otherwise why not.
    package func signIn(
        server: String, with credential: ProviderCredential, invitation: String? = nil, bringsObjects: Bool = false,
        accepting: (_ userID: String) throws -> Void = { _ in }
    ) async throws -> ProviderAnswer? {
        let asked = now()
        let answer = try await client(server).signIn(with: credential, invitation: invitation)
        guard case .signedIn(let session) = answer else { return answer }
        try accepting(session.userID)
        if bringsObjects { await copyObjects(to: session, server: server) }
        try adopt(session, server: server, asked: asked)
        return nil
    }

    /// Signs in with a token that a program with the key of a service account has signed.
    package func signIn(server: String, customToken: String) async throws {
        let asked = now()
        try adopt(try await client(server).signIn(customToken: customToken), server: server, asked: asked)
    }

    /// Has a mail sent to an address.
    ///
    /// - Parameter continueURL: As in `IdentityClient`.
    package func send(
        _ mail: AccountMail, to email: String, continueURL: String? = nil, server: String
    ) async throws {
        try await client(server).send(mail, to: email, continueURL: continueURL)
    }

    /// Signs in with the code of a mail, which it uses up.
    package func signIn(server: String, email: String, mailCode: String) async throws {
        let asked = now()
        let session = try await client(server).signIn(email: email, mailCode: mailCode)
        try adopt(session, server: server, asked: asked)
    }

    /// Gives the address of a mail's code to the account, which keeps its id and all its data.
    package func link(email: String, mailCode: String) async throws {
        try await adopt { try await $0.signIn(email: email, mailCode: mailCode, linkingTo: $1) }
    }

    /// Links a credential of an OpenID provider to the account, which keeps its id and all its data.
    ///
    /// - Returns: Nil if it is linked, otherwise why not.
    package func link(_ credential: ProviderCredential) async throws -> ProviderAnswer? {
        let server = try signedIn().server
        let client = client(server)
        let (answer, asked) = try await withToken { idToken in
            let asked = now()
            return (try await client.signIn(with: credential, linkingTo: idToken), asked)
        }
        guard case .signedIn(let session) = answer else { return answer }
        try adopt(session, server: server, asked: asked)
        return nil
    }

    /// Removes a provider, or changes the name, of the account.
    package func update(displayName: String? = nil, removing provider: String? = nil) async throws {
        let client = client(try signedIn().server)
        try await withToken { try await client.update(idToken: $0, displayName: displayName, removing: provider) }
    }

    /// Replaces the password, which ends all other sessions of the account.
    package func changePassword(from old: String, to new: String) async throws {
        let content = try signedIn()
        guard let email = content.email else {
            throw IdentityError(.invalidEmail, "An anonymous account has no password; `ferry link` gives it one.")
        }
        let client = client(content.server)
        // The server requires a recent sign-in for this.
        let fresh = try await client.signIn(email: email, password: old)
        guard fresh.userID == content.userID else {
            throw IdentityError(.protocolViolation, "The server signed in another account.")
        }
        let asked = now()
        let session = try await client.changePassword(idToken: fresh.idToken, to: new)
        try adopt(session, server: content.server, asked: asked)
    }

    /// Returns what the account uses and may use; nil if the server does not report it.
    package func quota() async throws -> QuotaReport? {
        let client = client(try signedIn().server)
        return try await withToken { try await client.quota(idToken: $0) }
    }

    /// Returns when the account gets its mail in the morning; nil if it gets none.
    package func morningMail() async throws -> MorningMailTime? {
        let client = client(try signedIn().server)
        return try await withToken { try await client.morningMail(idToken: $0) }
    }

    /// Sets when the account gets its mail in the morning; nil ends the mails.
    package func setMorningMail(_ time: MorningMailTime?) async throws {
        let client = client(try signedIn().server)
        try await withToken { try await client.setMorningMail(time, idToken: $0) }
    }

    /// Turns the anonymous account into a permanent one with all its data.
    package func link(email: String, password: String) async throws {
        try await adopt { try await $0.link(idToken: $1, email: email, password: password) }
    }

    /// Goes on with the session that a call has opened for the account of an ID token.
    private func adopt(
        _ call: (_ client: IdentityClient, _ idToken: String) async throws -> Session
    ) async throws {
        let server = try signedIn().server
        let (session, asked) = try await withToken { idToken in
            let asked = now()
            return (try await call(client(server), idToken), asked)
        }
        try adopt(session, server: server, asked: asked)
    }

    /// Sets the name that the account is shown with; nil removes it.
    package func setDisplayName(_ name: String?) async throws {
        let client = client(try signedIn().server)
        try await withToken { try await client.setDisplayName(name, idToken: $0) }
    }

    /// Removes the account from the server, but not its documents and objects, and the session from
    /// this machine.
    package func deleteAccount() async throws {
        let client = client(try signedIn().server)
        try await withToken { try await client.delete(idToken: $0) }
        try signOut()
    }

    /// Returns the id of another account of the server by its e-mail address; nil if there is none.
    package func userID(of email: String) async throws -> String? {
        let client = client(try signedIn().server)
        return try await withToken { try await client.userID(of: email, idToken: $0) }
    }

    /// Removes the session from this machine.
    package func signOut() throws {
        try file.remove()
        content = nil
        forget()
    }

    // MARK: credentials

    /// Returns an ID token for the next call. While the server is unreachable, the last token is
    /// used until it expires.
    ///
    /// - Throws: `IdentityError`. Its `needsLogin` states whether the user must sign in again.
    package func idToken() async throws -> String {
        if let token, now() < token.refreshAt { return token.value }
        let before = content
        do {
            try await refresh()
        } catch let error as IdentityError where error.code.needsLogin && content != before {
            // The refused session was replaced meanwhile, by a new sign-in or a new password.
            return try await idToken()
        } catch let error as IdentityError where error.code.isTransient {
            if let token, now() < token.endsAt { return token.value }
            throw error
        }
        guard let token else { throw Self.nobody }
        return token.value
    }

    /// Discards a token that a server did not accept, so that the next one is new.
    package func reject(idToken: String) {
        if token?.value == idToken { token = nil }
    }

    /// Returns keys for the next calls to the object store.
    package func storageCredential() async throws -> TemporaryStorageCredential {
        if let storage, now() < storage.refreshAt { return storage.value }
        let server = try signedIn().server
        do {
            let (credential, asked) = try await withToken { idToken in
                let asked = now()
                return (try await client(server).storageCredential(idToken: idToken), asked)
            }
            if content?.server == server {
                storage = Timed(credential, lifetime: credential.lifetime, now: asked)
            }
            return credential
        } catch let error as IdentityError where error.code.isTransient {
            if let storage, now() < storage.endsAt { return storage.value }
            throw error
        }
    }

    /// Discards keys that the object store did not accept, so that the next ones are new.
    package func reject(storageAccessKey: String) {
        if storage?.value.accessKey == storageAccessKey { storage = nil }
    }

    /// Copies the attachments of another account of the same server to this one.
    ///
    /// - Throws: `IdentityError`, after which a part of them may have been copied.
    package func copyObjects(of source: AccountSession) async throws {
        let client = client(try signedIn().server)
        var after: String? = ""
        while let place = after {
            try Task.checkCancellation()
            let token = try await source.idToken()
            after = try await withToken { try await client.copyObjects(of: token, after: place, idToken: $0) }
        }
    }

    // MARK: parts

    /// The time after which no further page of attachments is copied.
    private static let copyTime = Duration.seconds(60)

    /// Copies the attachments of the current account to another one on the server. Those that are not
    /// copied are uploaded later, as if the server had none, so no error ends the sign-in.
    private func copyObjects(to session: Session, server: String) async {
        guard let content, content.server == server, content.userID != session.userID else { return }
        let end = now() + Self.copyTime
        do {
            let source = try await idToken()
            var after: String? = ""
            while let place = after, now() < end {
                after = try await client(server).copyObjects(of: source, after: place, idToken: session.idToken)
            }
        } catch {}
    }

    /// Calls `call` with an ID token, and again with a new one if the server refuses the token, for
    /// example because its clock was set or its keys were replaced.
    private func withToken<Result: Sendable>(_ call: (String) async throws -> Result) async throws -> Result {
        let token = try await idToken()
        do {
            return try await call(token)
        } catch let error as IdentityError where error.code == .tokenExpired || error.code == .invalidToken {
            reject(idToken: token)
            return try await call(try await idToken())
        }
    }

    private func refresh() async throws {
        if let refreshing { return try await refreshing.value }
        let content = try signedIn()
        let client = client(content.server)
        // A separate task, so that a caller that gives up does not cancel the refresh for the
        // others. The client's time limits end it.
        let task = Task {
            let asked = now()
            let session = try await client.refresh(content.refreshToken)
            try finish(session, of: content, asked: asked)
        }
        refreshing = task
        defer { if refreshing == task { refreshing = nil } }
        try await task.value
    }

    private func finish(_ session: Session, of old: SessionFile.Content, asked: ContinuousClock.Instant) throws {
        // The user signed in or out meanwhile.
        guard content == old else { return }
        guard session.userID == old.userID else {
            throw IdentityError(.protocolViolation, "The server refreshed the session of another account.")
        }
        if session.refreshToken != old.refreshToken {
            let new = SessionFile.Content(
                server: old.server, userID: old.userID, email: old.email, refreshToken: session.refreshToken)
            try file.save(new)
            content = new
        }
        token = Timed(session.idToken, lifetime: session.lifetime, now: asked)
    }

    private func adopt(_ session: Session, server: String, asked: ContinuousClock.Instant) throws {
        let new = SessionFile.Content(
            server: server, userID: session.userID, email: session.email, refreshToken: session.refreshToken)
        try file.save(new)
        content = new
        forget()
        token = Timed(session.idToken, lifetime: session.lifetime, now: asked)
    }

    private func forget() {
        token = nil
        storage = nil
        refreshing = nil
    }

    private func signedIn() throws -> SessionFile.Content {
        guard let content else { throw Self.nobody }
        return content
    }

    private func client(_ server: String) -> IdentityClient {
        IdentityClient(url: server, tokens: tokens, key: key, http: http)
    }

    private static let nobody = IdentityError(.notSignedIn, "No account is signed in; run `ferry login URL`.")
}
