import AccountClient
import DocumentClient
import DocumentModel
import IdentityProtocol
import ObjectStorage
import SystemIO

/// The accounts of a server, and the one that is signed in on this machine.
///
/// All calls throw `IdentityError` or `CancellationError`.
package protocol AccountService: Sendable {
    /// The account that is signed in; nil if nobody is.
    var current: AccountRecord? { get async }

    func signInAnonymously() async throws
    func signIn(email: String, password: String) async throws
    func signUp(email: String, password: String) async throws
    /// Turns the anonymous account into one with an address, under the same id.
    func link(email: String, password: String) async throws
    func setDisplayName(_ name: String?) async throws
    /// Ends the session on this machine.
    func signOut() async throws
    /// Removes the account from the server, and ends the session.
    func delete() async throws
}

/// An account that is signed in.
package struct AccountRecord: Sendable, Hashable {
    package var id: String
    package var email: String?
    package var displayName: String?

    package init(id: String, email: String?, displayName: String? = nil) {
        self.id = id
        self.email = email
        self.displayName = displayName
    }
}

/// The accounts of a `ferry-server`, or of Firebase. The session is kept in a file of mode 0600.
actor SessionAccountService: AccountService {
    private let session: AccountSession
    private let server: @Sendable () async throws -> String
    private let names: DisplayNames
    private let environment: Environment
    private var lastToken: String?
    private var lastKeys: (accessKey: String, time: Duration)?

    private static let keysInterval = Duration.seconds(60)
    /// The time before their end at which the store replaces keys.
    private static let keysMargin = Duration.seconds(300)

    /// Loads the session of an earlier run.
    ///
    /// - Parameter server: returns the URL of the identity server.
    init(
        directory: String, environment: Environment = .system, server: @escaping @Sendable () async throws -> String
    ) throws {
        do {
            session = try AccountSession(file: SessionFile(path: "\(directory)/session.json"))
        } catch let error as IdentityError {
            throw FerryError(.storage, error.message, cause: error)
        }
        names = DisplayNames(path: "\(directory)/name.json")
        self.server = server
        self.environment = environment
    }

    var current: AccountRecord? {
        get async {
            guard let content = await session.current else { return nil }
            return AccountRecord(
                id: content.userID, email: content.email, displayName: names.name(of: content.userID))
        }
    }

    func signInAnonymously() async throws { try await session.signInAnonymously(server: try await server()) }

    func signIn(email: String, password: String) async throws {
        try await session.signIn(server: try await server(), email: email, password: password)
    }

    func signUp(email: String, password: String) async throws {
        try await session.signUp(server: try await server(), email: email, password: password)
    }

    func link(email: String, password: String) async throws { try await session.link(email: email, password: password) }

    func setDisplayName(_ name: String?) async throws {
        try await session.setDisplayName(name)
        guard let user = await session.current?.userID else { return }
        try names.set(name, of: user)
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
