package import IdentityProtocol
import JSON
import Synchronization
import SystemIO

/// The identity part of `ferry-server`: accounts, tokens and their keys, and credentials for the
/// object store.
///
/// It implements the Identity Toolkit's REST interface, OpenID discovery and STS; see `IdentityRouter`. Its
/// state is in one directory, in `accounts.sqlite` and `signing-keys.pem`, both of mode 0600.
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
    /// The accounts to which attachments are being copied: one call at a time for each.
    let copyTargets = Mutex<Set<String>>([])
    private let providers: [String: OpenIDProvider]

    let keys: SigningKeys
    let now: @Sendable () -> Int64
    private let store: AccountStore

    /// Opens or creates the state in `directory`, which must exist.
    ///
    /// - Parameter now: Returns the seconds since 1970.
    package init(directory: String, _ configuration: Configuration, now: @escaping @Sendable () -> Int64) async throws {
        self.configuration = configuration
        self.now = now
        keys = try SigningKeys(path: "\(directory)/signing-keys.pem")
        store = try AccountStore(path: "\(directory)/accounts.sqlite")
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
        accounts = try Accounts(store, issuer, passwordCost: configuration.passwordCost, policy)
        lineage = try await store.lineage()
        storage = try await StorageCredentials(store, accounts.revocations)
        verifier = TokenVerifier(
            keys: keys.publicKeys, issuer: issuer.issuer, audience: configuration.project,
            isEmulator: configuration.isEmulator)
        authenticator = Authenticator(
            verifier, accounts.revocations, isEmulator: configuration.isEmulator, now: now)
        try await accounts.reload(now: now())
    }

    /// Reloads the data that another process (`ferry-server user`, `keys`) has changed.
    package func reload() async throws {
        try await accounts.reload(now: now())
        try await storage.reload()
        try await serviceKeys.reload()
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

    /// Returns the quota of an account.
    package func quota(of user: String) -> AccountQuota {
        configuration.quota.overridden(by: accounts.quotaOverride(of: user))
    }

    package func close() async { await store.close() }
}
