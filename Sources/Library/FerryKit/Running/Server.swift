package import DocumentClient
package import DocumentModel
public import FoundationEssentials
package import ObjectStorage

/// The server on which the documents of an app are.
public struct Server: Sendable {
    package let makeBackend: @Sendable (_ directory: String) throws -> any Backend

    package init(makeBackend: @escaping @Sendable (_ directory: String) throws -> any Backend) {
        self.makeBackend = makeBackend
    }

    /// A `ferry-server`, by the URL that it prints when it is ready.
    public static func ferry(_ url: URL) -> Server {
        Server { try FerryBackend(url: url.absoluteString, directory: $0) }
    }

    /// A database for development without accounts: `ferry-server --emulator`, or Google's emulator.
    ///
    /// - Parameters:
    ///   - host: the address of the database, `host:port`.
    ///   - project: the id of the project, which may be any.
    public static func emulator(host: String, project: String) -> Server {
        Server { _ in EmulatorBackend(host: host, project: project) }
    }
}

/// What a `Ferry` needs of a server.
package protocol Backend: Sendable {
    /// The accounts; nil for a server without.
    var accounts: (any AccountService)? { get }
    /// The database; nil before the first contact with the server, of which it is asked.
    var database: DatabaseName? { get async }

    /// Connects to the documents. Does not wait for the network.
    func connect() async throws -> RemoteConnection

    /// Returns the store of files; nil for a server without. Does not wait for the network.
    func objects() async throws -> (any ObjectStore)?
}

extension Backend {
    package func objects() -> (any ObjectStore)? { nil }
}

/// The documents of a server, and how the connection to them ends.
package struct RemoteConnection: Sendable {
    package let documents: any RemoteDocuments
    package let close: @Sendable () -> Void

    package init(documents: any RemoteDocuments, close: @escaping @Sendable () -> Void) {
        self.documents = documents
        self.close = close
    }

    init(_ configuration: FirestoreRemote.Configuration) {
        let remote = FirestoreRemote(configuration)
        self.init(documents: remote) { remote.close() }
    }
}

/// A database without accounts.
struct EmulatorBackend: Backend {
    let host: String
    let project: String

    var accounts: (any AccountService)? { nil }
    var database: DatabaseName? { DatabaseName(project: project) }

    func connect() -> RemoteConnection {
        // Emulators take this token for that of an administrator.
        RemoteConnection(
            FirestoreRemote.Configuration(
                endpoint: host, database: DatabaseName(project: project), security: .plaintext,
                token: { _ in "owner" }))
    }
}
