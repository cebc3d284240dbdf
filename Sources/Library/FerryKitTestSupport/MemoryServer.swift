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
        var passwords: [String: (password: String, id: String)] = [:]
        var names: [String: String] = [:]
        /// The session of each state directory.
        var sessions: [String: AccountRecord] = [:]
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

    func signIn(email: String, password: String) throws {
        try change { accounts in
            guard let known = accounts.passwords[email], known.password == password else {
                throw IdentityError(.invalidCredentials, "The e-mail or the password is wrong.")
            }
            accounts.sessions[directory] = AccountRecord(
                id: known.id, email: email, displayName: accounts.names[known.id])
        }
    }

    func signUp(email: String, password: String) throws {
        try change { accounts in
            guard accounts.passwords[email] == nil else { throw Self.inUse }
            accounts.lastID += 1
            accounts.passwords[email] = (password, "user\(accounts.lastID)")
            accounts.sessions[directory] = AccountRecord(id: "user\(accounts.lastID)", email: email)
        }
    }

    func link(email: String, password: String) throws {
        try change { accounts in
            guard let user = accounts.sessions[directory] else { throw Self.nobody }
            guard accounts.passwords[email] == nil else { throw Self.inUse }
            accounts.passwords[email] = (password, user.id)
            accounts.sessions[directory]?.email = email
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
            accounts.passwords = accounts.passwords.filter { $0.value.id != user.id }
        }
    }

    private func change(_ body: (inout MemoryServer.Accounts) throws -> Void) throws {
        if server.isOffline.withLock({ $0 }) { throw IdentityError(.offline, "The server is offline.") }
        try server.accounts.withLock { try body(&$0) }
    }

    private static let nobody = IdentityError(.notSignedIn, "Nobody is signed in.")
    private static let inUse = IdentityError(.emailExists, "An account with this e-mail exists already.")
}
