import AccountClient
import DocumentClient
import DocumentModel
import HTTPClient
import HTTPMessages
import JSON
import ObjectStorage
import SystemIO

/// A `ferry-server`.
struct FerryBackend: Backend {
    private let location: ServerLocation
    private let service: SessionAccountService

    init(url: String, directory: String) throws {
        let location = ServerLocation(url: url, file: "\(directory)/server.json")
        self.location = location
        service = try SessionAccountService(directory: directory) { try await location.describe().identity }
    }

    var accounts: (any AccountService)? { service }

    var database: DatabaseName? {
        get async { await location.known.map { DatabaseName(project: $0.project, database: $0.database) } }
    }

    func connect() async throws -> RemoteConnection {
        let server = try await location.describe()
        let service = service
        return RemoteConnection(
            FirestoreRemote.Configuration(
                endpoint: server.documents,
                database: DatabaseName(project: server.project, database: server.database),
                security: server.documentsUseTLS ? .tls() : .plaintext,
                token: { try await service.token(isRefused: $0) }))
    }

    func objects() async throws -> (any ObjectStore)? {
        let server = try await location.describe()
        var place = try S3Configuration(endpoint: server.objects, bucket: server.bucket, region: server.region)
        // The keys of other stores are not the server's to give.
        guard server.keepsObjects else {
            return S3ObjectStore(place) {
                guard let keys = S3Credentials.fromEnvironment() else {
                    throw ObjectStorageError(
                        .permission,
                        "Files are stored in \(server.objectsPlace), and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
                            + "are not set.")
                }
                return keys
            }
        }
        (place.integrity, place.usesArchives) = (.crc32c, true)
        let service = service
        return S3ObjectStore(place) { try await service.storageKeys() }
    }
}

/// Where the parts of a `ferry-server` are. It is asked once and remembered, so that an app starts
/// offline.
actor ServerLocation {
    private let url: String
    private let file: String
    private(set) var known: ServerDescription?

    init(url: String, file: String) {
        var url = url
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        self.file = file
        let bytes = try? FileSystem.readIfPresent(file, limit: 64 << 10)
        let found = (bytes ?? nil).flatMap { try? JSON(parsing: $0) }.flatMap(ServerDescription.init(remembered:))
        known = found?.url == url ? found : nil
    }

    func describe() async throws -> ServerDescription {
        if let known { return known }
        let request = HTTPRequest(
            .get, "\(url)/.well-known/ferry",
            timeouts: .init(connect: .seconds(10), stall: .seconds(15), total: .seconds(30)))
        do {
            let response = try await HTTPClient().send(request)
            let bytes = try await response.body.collect(limit: 64 << 10)
            guard response.status.isSuccess, let json = try? JSON(parsing: bytes, depth: 8),
                let found = ServerDescription(url: url, discovery: json)
            else { throw FerryError(.offline, "The server at \(url) is not a Ferry server.") }
            try FileSystem.replace(file, with: found.json.bytes, mode: 0o600)
            known = found
            return found
        } catch let error as HTTPError {
            throw FerryError(.offline, "The server at \(url) cannot be reached: \(error.message)", cause: error)
        }
    }
}
