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

    /// A database of Cloud Firestore, with accounts of Firebase Authentication.
    ///
    /// Rules of the project decide about access. FerryKit keeps what it needs to count increments once
    /// in the collection `receipts`, in documents with the user's id in `userId`; let users read and
    /// write their own.
    ///
    /// - Parameters:
    ///   - project: the id of the project.
    ///   - apiKey: the web API key of the project, which is not secret.
    ///   - files: the URL of a bucket of an S3 store, `https://host/bucket`, for files in documents; nil
    ///     for none. Its keys are those of `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
    public static func firestore(project: String, apiKey: String, files: URL? = nil) -> Server {
        Server { try CloudBackend(project: project, key: apiKey, hosts: .google, files: files, directory: $0) }
    }

    /// A database for development: `ferry-server --emulator`, or Google's emulators.
    ///
    /// - Parameters:
    ///   - host: the address of the database, `host:port`.
    ///   - project: the id of the project, which may be any.
    ///   - accounts: the URL of the emulator of Firebase Authentication, or of `ferry-server`; nil for
    ///     no accounts, with which everything is allowed.
    public static func emulator(host: String, project: String, accounts: URL? = nil) -> Server {
        guard let accounts else { return Server { _ in EmulatorBackend(host: host, project: project) } }
        return Server {
            try CloudBackend(
                project: project, key: "emulator", hosts: CloudBackend.Hosts(emulator: host, accounts: accounts),
                files: nil, directory: $0)
        }
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
