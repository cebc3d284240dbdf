import AccountClient
import DocumentClient
import DocumentModel
public import FerryKit
import IdentityProtocol
import ObjectStorage
import Synchronization

/// A server in memory, for tests and previews of an app: documents and accounts without a network.
///
///     let server = MemoryServer()
///     let phone = try await Ferry.open(.memory(server), state: directory)
///
/// Several `Ferry` objects that use the same server are like several machines. The server orders
/// commits, checks preconditions and computes transforms as a real one does. It has no rules; every
/// user may do everything.
public final class MemoryServer: Sendable {
    fileprivate struct Accounts {
        /// The passwords or tokens of credentials, by address or provider, and whose they are. An account
        /// that was signed in to by a link has no password.
        var credentials: [String: (secret: String?, id: String)] = [:]
        /// The codes of the last links to sign in with, by address.
        var links: [String: String] = [:]
        var names: [String: String] = [:]
        /// The session of each state directory.
        var sessions: [String: AccountRecord] = [:]
        /// The account that is about to follow in a state directory.
        var prepared: [String: (record: AccountRecord, credential: Credential)] = [:]
        var lastID = 0
    }

    fileprivate let remote = ServedRemote()
    fileprivate let objects = SwitchedObjectStore()
    fileprivate let accounts = Mutex(Accounts())
    fileprivate let isOffline = Mutex(false)

    /// Creates a server without documents and accounts.
    public init() {}

    /// Makes the server unreachable, or reachable again.
    public func setOffline(_ isOffline: Bool) {
        self.isOffline.withLock { $0 = isOffline }
        remote.fail(isOffline ? .transient : nil)
        objects.setOffline(isOffline)
    }

    /// Makes the server refuse writes of documents for which `isRefused` returns true, given their
    /// paths.
    public func refuseWrites(where isRefused: @escaping @Sendable (_ path: String) -> Bool) {
        remote.with { remote in remote.refuses = { isRefused($0.name.path) ? .permission : nil } }
    }

    /// Applies writes and loses the answers, or answers again.
    public func loseAnswers(_ losesAnswers: Bool) { remote.loseAnswers(losesAnswers) }

    /// Returns the link of the last mail to an address, which `Account.sendSignInLink` has asked for;
    /// nil if there was none, or it was used.
    public func signInLink(to email: String) -> String? {
        accounts.withLock { $0.links[email] }.map { "https://memory.invalid/?mode=signIn&oobCode=\($0)" }
    }

    /// The paths of all documents, in order.
    public var paths: [String] { remote.with { $0.documents.keys.map(\.path).sorted() } }

    /// The number of objects in which the content of files is: a manifest and its chunks for each.
    public var objectCount: Int { objects.count }

    /// The number of commits that the server was sent.
    public var commitCount: Int { remote.with(\.commitCount) }
}

extension Server {
    /// A server in memory.
    public static func memory(_ server: MemoryServer) -> Server {
        Server { MemoryBackend(server: server, directory: $0) }
    }
}

private struct MemoryBackend: Backend {
    let server: MemoryServer
    let directory: String

    var accounts: (any AccountService)? { MemoryAccounts(server: server, directory: directory) }
    var database: DatabaseName? { DatabaseName(project: "memory") }

    func connect() -> RemoteConnection { RemoteConnection(documents: server.remote) {} }

    func objects() -> (any ObjectStore)? { server.objects }
}

private struct MemoryAccounts: AccountService {
    let server: MemoryServer
    let directory: String

    var current: AccountRecord? { server.accounts.withLock { $0.sessions[directory] } }

    func signInAnonymously() throws {
        try change { accounts in
            accounts.lastID += 1
            accounts.sessions[directory] = AccountRecord(id: "user\(accounts.lastID)", email: nil)
        }
    }

    func signIn(with credential: Credential) throws {
        try change { $0.sessions[directory] = try Self.find(credential, in: &$0) }
    }

    /// Returns the account with a credential. The first sign-in with a provider creates one.
    private static func find(_ credential: Credential, in accounts: inout MemoryServer.Accounts) throws -> AccountRecord
    {
        let (key, secret, email) = parts(of: credential)
        let known = accounts.credentials[key]
        if try takeLink(credential, in: &accounts) {
            return known.map { record($0.id, email, in: accounts) } ?? create(credential, in: &accounts)
        }
        if known == nil, email == nil { return create(credential, in: &accounts) }
        guard let known, known.secret == secret else {
            throw IdentityError(.invalidCredentials, "The e-mail or the password is wrong.")
        }
        return record(known.id, email, in: accounts)
    }

    private static func record(_ id: String, _ email: String?, in accounts: MemoryServer.Accounts) -> AccountRecord {
        let providers = accounts.credentials.filter { $0.value.id == id }.map { provider(of: $0.key) }
        return AccountRecord(id: id, email: email, displayName: accounts.names[id], providers: providers.sorted())
    }

    private static func create(_ credential: Credential, in accounts: inout MemoryServer.Accounts) -> AccountRecord {
        let (key, secret, email) = parts(of: credential)
        accounts.lastID += 1
        // A custom token says whose it is; here it is the id itself.
        let id = if case .customToken(let token) = credential { token } else { "user\(accounts.lastID)" }
        accounts.credentials[key] = (secret, id)
        return record(id, email, in: accounts)
    }

    /// Uses up the code of a link. Returns false for a credential of another kind.
    private static func takeLink(_ credential: Credential, in accounts: inout MemoryServer.Accounts) throws -> Bool {
        guard case .emailLink(let email, let link) = credential else { return false }
        guard let code = accounts.links[email], code == AccountMail.signInCode(in: link) ?? link else {
            throw AccountError.expiredLink
        }
        accounts.links[email] = nil
        return true
    }

    private static func parts(of credential: Credential) -> (key: String, secret: String?, email: String?) {
        switch credential {
        case .password(let email, let password): ("password \(email)", password, email)
        case .emailLink(let email, _): ("password \(email)", nil, email)
        case .customToken(let token): ("custom \(token)", token, nil)
        // Whoever has the token is who the provider says; here the token itself says it.
        case .openID(let provider, let idToken, _): ("\(provider) \(idToken)", idToken, nil)
        }
    }

    private static func provider(of key: String) -> String { String(key.prefix { $0 != " " }) }

    func signUp(with credential: Credential) throws {
        try change { accounts in
            guard accounts.credentials[Self.parts(of: credential).key] == nil else { throw Self.inUse }
            accounts.sessions[directory] = Self.create(credential, in: &accounts)
        }
    }

    func link(with credential: Credential) throws {
        try change { accounts in
            guard let user = accounts.sessions[directory] else { throw Self.nobody }
            let (key, secret, email) = Self.parts(of: credential)
            if case .customToken = credential { throw AccountError.refused("A custom token cannot be linked.") }
            guard accounts.credentials[key] == nil else { throw Self.inUse }
            _ = try Self.takeLink(credential, in: &accounts)
            accounts.credentials[key] = (secret, user.id)
            accounts.sessions[directory] = Self.record(user.id, email ?? user.email, in: accounts)
        }
    }

    func send(_ mail: AccountMail, to email: String, continueURL: String?) throws {
        try change { accounts in
            guard mail == .signIn else { return }
            accounts.lastID += 1
            accounts.links[email] = "code\(accounts.lastID)"
        }
    }

    func unlink(_ provider: String) throws {
        try change { accounts in
            guard let user = accounts.sessions[directory] else { throw Self.nobody }
            accounts.credentials = accounts.credentials.filter {
                $0.value.id != user.id || Self.provider(of: $0.key) != provider
            }
            accounts.sessions[directory] = Self.record(
                user.id, provider == "password" ? nil : user.email, in: accounts)
        }
    }

    func prepare(_ credential: Credential) throws -> AccountRecord {
        try change { accounts in
            // A link in a mail cannot be used again by a call that is repeated.
            if let (record, earlier) = accounts.prepared[directory], earlier == credential { return record }
            let record = try Self.find(credential, in: &accounts)
            accounts.prepared[directory] = (record, credential)
            return record
        }
    }

    func copyFiles() async throws {
        let (old, new) = server.accounts.withLock { ($0.sessions[directory]?.id, $0.prepared[directory]?.record.id) }
        guard let old, let new else { throw Self.nobody }
        try await server.objects.copy(from: "\(old)/", to: "\(new)/")
    }

    func adopt(deletingCurrent: Bool) throws {
        try change { accounts in
            guard let user = accounts.prepared.removeValue(forKey: directory)?.record else { throw Self.nobody }
            accounts.sessions[directory] = user
        }
    }

    func setDisplayName(_ name: String?) throws {
        try change { accounts in
            guard let user = accounts.sessions[directory] else { throw Self.nobody }
            accounts.names[user.id] = name
            accounts.sessions[directory]?.displayName = name
        }
    }

    func signOut() { server.accounts.withLock { $0.sessions[directory] = nil } }

    func delete() throws {
        try change { accounts in
            guard let user = accounts.sessions.removeValue(forKey: directory) else { throw Self.nobody }
            accounts.credentials = accounts.credentials.filter { $0.value.id != user.id }
        }
    }

    private func change<Result>(_ body: (inout MemoryServer.Accounts) throws -> Result) throws -> Result {
        if server.isOffline.withLock({ $0 }) { throw IdentityError(.offline, "The server is offline.") }
        return try server.accounts.withLock { try body(&$0) }
    }

    private static let nobody = IdentityError(.notSignedIn, "Nobody is signed in.")
    private static let inUse = IdentityError(.emailExists, "An account with this e-mail exists already.")
}
