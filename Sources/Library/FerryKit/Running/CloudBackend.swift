import DocumentClient
import DocumentModel
import FoundationEssentials
import ObjectStorage

/// A project of Firebase: documents in Cloud Firestore, accounts of Firebase Authentication.
struct CloudBackend: Backend {
    /// The addresses of the services.
    struct Hosts {
        /// The address of the documents, `host:port`.
        let documents: String
        let security: FirestoreRemote.Security
        let identity: String
        let tokens: String

        static let google = Hosts(
            documents: "firestore.googleapis.com:443", security: .tls(),
            identity: "https://identitytoolkit.googleapis.com", tokens: "https://securetoken.googleapis.com")

        private init(
            documents: String, security: FirestoreRemote.Security, identity: String, tokens: String
        ) {
            (self.documents, self.security) = (documents, security)
            (self.identity, self.tokens) = (identity, tokens)
        }

        /// The emulators serve each service below its name.
        init(emulator documents: String, accounts: URL) {
            var root = accounts.absoluteString
            while root.hasSuffix("/") { root.removeLast() }
            self.init(
                documents: documents, security: .plaintext, identity: "\(root)/identitytoolkit.googleapis.com",
                tokens: "\(root)/securetoken.googleapis.com")
        }
    }

    private let project: String
    private let hosts: Hosts
    private let files: URL?
    private let service: SessionAccountService

    init(project: String, key: String, hosts: Hosts, files: URL?, directory: String) throws {
        self.project = project
        self.hosts = hosts
        self.files = files
        service = try SessionAccountService(
            directory: directory, tokens: hosts.tokens, key: key, files: files == nil ? .nowhere : .inBucket
        ) { hosts.identity }
    }

    var accounts: (any AccountService)? { service }
    var database: DatabaseName? { DatabaseName(project: project) }

    func connect() -> RemoteConnection {
        let service = service
        return RemoteConnection(
            FirestoreRemote.Configuration(
                endpoint: hosts.documents, database: DatabaseName(project: project), security: hosts.security,
                token: { try await service.token(isRefused: $0) }))
    }

    func objects() throws -> (any ObjectStore)? {
        guard let files else { return nil }
        var endpoint = files.absoluteString
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        guard let slash = endpoint.lastIndex(of: "/") else {
            throw FerryError(.invalid, "\(files) is not the URL of a bucket.")
        }
        let place = try S3Configuration(
            endpoint: String(endpoint[..<slash]), bucket: String(endpoint[endpoint.index(after: slash)...]))
        return S3ObjectStore(place) {
            guard let keys = S3Credentials.fromEnvironment() else {
                throw ObjectStorageError(
                    .permission,
                    "Files are stored in \(files), and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set.")
            }
            return keys
        }
    }
}
