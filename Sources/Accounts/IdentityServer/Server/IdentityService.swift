import HTTPMessages
package import IdentityProtocol
import JSON
import PostgreSQL
import Synchronization
package import SystemIO

/// The identity part of `ferry-server`: accounts, tokens and their keys, and credentials for the
/// object store.
///
/// It implements the Identity Toolkit's REST interface, OpenID discovery and STS; see `IdentityRouter`. Its
/// state is in one directory, or in a database that it shares with other servers.
package final class IdentityService: Sendable {
    package struct Configuration: Sendable {
        /// The server's own URL without a slash at its end. It is the issuer of its tokens and the
        /// base of OpenID discovery. If it changes, clients refresh their tokens automatically.
        package var issuer: String
        /// The audience of its tokens.
        package var project: String
        /// Whether to behave like Google's emulator; see `TokenVerifier`.
        package var isEmulator = false
        /// The scrypt cost of new passwords, a power of two.
        package var passwordCost = 1 << 15
        package var signUp = SignUpPolicy.open
        /// Whether requests from this machine come through a proxy, so that they are counted like
        /// those of any other address.
        package var isBehindProxy = false
        /// The quota of accounts for which an administrator has set no other.
        package var quota = AccountQuota()
        /// The OpenID providers with whose accounts users may sign in.
        package var providers: [OpenIDConfiguration] = []
        /// Sends a mail; nil if the server sends none. Returns when it was accepted or refused.
        package var mailer: (@Sendable (Mail) async throws -> Void)?
        /// Called when a mail that was already promised to its requester could not be sent.
        package var onMailError: @Sendable (any Error) -> Void = { _ in }
        /// Returns the time of the next mail in the morning after `now`; nil for an unknown time zone. The
        /// property is nil if the server sends no such mails.
        package var nextMorning: (@Sendable (_ setting: MorningMails.Setting, _ now: Int64) -> Int64?)?
        /// Returns an account's usage; nil if usage is not counted.
        package var usage: (@Sendable (_ user: String) async throws -> AccountUsage)?

        /// Copies a page of the objects of an account to another one, which may keep `limit` bytes, and
        /// returns the key after which the next page begins; nil if objects are not on this server.
        package var copyObjects:
            (@Sendable (_ source: String, _ target: String, _ after: String, _ limit: Int64) async throws -> String?)?

        package init(issuer: String, project: String) {
            self.issuer = issuer
            self.project = project
        }
    }

    package let configuration: Configuration
    package let accounts: Accounts
    package let storage: StorageCredentials
    package let authenticator: Authenticator
    /// The verifier of ID tokens, for servers that verify tokens themselves.
    package let verifier: TokenVerifier

    /// The identifier of this set of accounts, which a backup shares; see `AccountStore.lineage`.
    package let lineage: String

    /// The keys of administrators' programs.
    package let serviceKeys: ServiceKeys
    let emulatedMail = EmulatedMail()
    let outbox: Outbox
    /// The accounts to which attachments are being copied: one call at a time for each.
    let copyTargets = Mutex<Set<String>>([])
    private let providers: [String: OpenIDProvider]

    let keys: SigningKeyRing
    let now: @Sendable () -> Int64
    private let store: AccountStore
    private let keyStorage: SigningKeyStorage
    /// The generation of the shared accounts that this server has read.
    private let generation = Mutex<Int64>(0)
    /// Set when another server has changed something.
    private let changes = AsyncSignal()
    private let environment: Environment

    /// The topic of notifications of changed accounts.
    private static let topic = "accounts"
    /// The time after which changes of other servers are noticed at the latest: so long does a server
    /// accept tokens of an account that another one has disabled.
    private static let catchUpInterval = Duration.seconds(1)
    /// The number of these intervals after which expired rows are removed.
    private static let cleaningInterval = 600

    /// Opens or creates the state in `directory`, which must exist.
    ///
    /// - Parameter now: Returns the seconds since 1970.
    package convenience init(
        directory: String, _ configuration: Configuration, now: @escaping @Sendable () -> Int64
    ) async throws {
        try await self.init(.directory(directory), configuration, now: now)
    }

    /// Opens or creates the state.
    ///
    /// - Parameter now: Returns the seconds since 1970.
    package init(
        _ storage: AccountStorage, _ configuration: Configuration, environment: Environment = .system,
        now: @escaping @Sendable () -> Int64
    ) async throws {
        self.configuration = configuration
        outbox = Outbox(onError: configuration.onMailError)
        self.environment = environment
        self.now = now
        switch storage {
        case .directory(let directory):
            store = AccountStore(try SQLiteAccountDatabase(path: "\(directory)/accounts.sqlite"))
            keyStorage = .file("\(directory)/signing-keys.pem")
        case .database(let server, let peers):
            peers?.onNotification(Self.topic) { [changes] in changes.set() }
            do {
                store = AccountStore(
                    try PostgresAccountDatabase(server, environment: environment) { peers?.notify(Self.topic) })
            } catch {
                throw AccountsUnavailable(cause: error)
            }
            keyStorage = .database(store)
        }
        let present = try await store.generation()
        keys = SigningKeyRing(try await keyStorage.keys())
        // Google's verifiers look for Google's issuers in emulator mode, where nothing is signed for real.
        let project = configuration.project
        let issuer = TokenIssuer(
            keys: keys,
            issuer: configuration.isEmulator ? "https://securetoken.google.com/\(project)" : configuration.issuer,
            cookieIssuer: configuration.isEmulator
                ? "https://session.firebase.google.com/\(project)" : "\(configuration.issuer)/session", project: project
        )
        providers = Dictionary(
            configuration.providers.map { ($0.name, OpenIDProvider($0)) }, uniquingKeysWith: { first, _ in first })
        serviceKeys = try await ServiceKeys(
            store, keys, issuer: configuration.issuer, project: project, isEmulator: configuration.isEmulator)
        let policy = Accounts.Policy(
            signUp: configuration.signUp, limitsSignUps: !configuration.isEmulator,
            isBehindProxy: configuration.isBehindProxy)
        accounts = try Accounts(store, issuer, passwordCost: configuration.passwordCost, policy, clock: now)
        lineage = try await store.lineage()
        self.storage = try await StorageCredentials(store, accounts.revocations)
        verifier = TokenVerifier(
            key: { [keys] in keys.publicKey($0) }, issuer: issuer.issuer, audience: configuration.project,
            isEmulator: configuration.isEmulator)
        authenticator = Authenticator(
            verifier, accounts.revocations, isEmulator: configuration.isEmulator, now: now)
        try await accounts.reload(now: now())
        generation.withLock { $0 = present }
    }

    /// Reloads the data that another process (`ferry-server user`, `keys`) has changed.
    package func reload() async throws {
        keys.replace(with: try await keyStorage.keys())
        try await accounts.reload(now: now())
        try await storage.reload()
        try await serviceKeys.reload()
    }

    /// Learns what other servers change, if the accounts are shared, until the task is cancelled.
    ///
    /// - Parameter onChange: Called after something has changed.
    package func follow(onChange: @Sendable () -> Void, onError: @Sendable (any Error) -> Void) async {
        var round = 0
        while store.database.isShared, !Task.isCancelled {
            _ = await changes.wait(atMost: Self.catchUpInterval, in: environment)
            round += 1
            do {
                if try await catchUp() { onChange() }
                if round % Self.cleaningInterval == 0 { try await accounts.limits.removeExpired(now: now()) }
            } catch is CancellationError {
                return
            } catch {
                onError(error)
            }
        }
    }

    /// Learns what other servers have changed. Returns whether there was anything.
    @discardableResult
    func catchUp() async throws -> Bool {
        let present = try await store.generation()
        guard present != generation.withLock({ $0 }) else { return false }
        try await reload()
        generation.withLock { $0 = max($0, present) }
        return true
    }

    /// Adds a signing key, which signs after `SigningKeys.overlap`. Tokens that are signed with
    /// earlier keys stay valid.
    package func rotateSigningKeys() async throws {
        try await keyStorage.rotate(signingFrom: now() + SigningKeys.overlap)
        keys.replace(with: try await keyStorage.keys())
    }

    var isEmulator: Bool { configuration.isEmulator }

    /// Returns the provider of a name, with or without the prefix `oidc.` that Google's SDKs demand.
    func provider(_ name: String) throws -> OpenIDProvider {
        let short = name.hasPrefix("oidc.") ? String(name.dropFirst("oidc.".count)) : name
        guard let provider = providers[name] ?? providers[short] else {
            throw ToolkitRefusal("OPERATION_NOT_ALLOWED : This server has no OpenID provider of that name.")
        }
        return provider
    }

    /// Returns the identity that a provider's ID token proves. In emulator mode tokens of providers
    /// that are not configured need no signature.
    func identity(_ name: String, token: String, nonce: String?) async throws -> FederatedIdentity {
        do {
            return try await provider(name).verify(token, nonce: nonce, now: now())
        } catch let refusal as ToolkitRefusal where isEmulator && refusal.name.hasPrefix("OPERATION_NOT") {
            let claims = JSONWebToken(token)?.claims ?? (try? JSON(parsing: token, depth: 16))?.objectValue
            guard let claims else { throw OpenIDToken.invalid("is malformed") }
            return try FederatedIdentity(provider: name, claims: claims)
        }
    }

    /// The mails in the morning.
    package var morningMails: MorningMails { store.morningMails }

    /// Returns the URL at which the mails with a token are ended.
    package func endOfMails(token: String) -> String {
        "\(configuration.issuer)\(EndOfMailsPage.path)?token=\(PercentEncoding.encode(token))"
    }

    /// Returns the quota of an account.
    package func quota(of user: String) -> AccountQuota {
        configuration.quota.overridden(by: accounts.quotaOverride(of: user))
    }

    package func close() async {
        await outbox.close()
        await store.close()
    }
}
