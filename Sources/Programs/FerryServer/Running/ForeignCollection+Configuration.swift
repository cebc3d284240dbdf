import DocumentModel
import ObjectStorage
import ServerData
import SystemIO

extension ForeignCollection {
    /// Creates a collection; nil if the configuration names no such bucket, or no keys for it.
    init?(_ configuration: ServerConfiguration) throws {
        guard let bucket = configuration.objects, let keys = configuration.objectsKeys else { return nil }
        let place = try S3Configuration(endpoint: bucket.url, bucket: bucket.bucket, region: bucket.region)
        let file = S3CredentialsFile(
            path: keys, for: bucket.description, credentialsDirectory: ProcessEnvironment["CREDENTIALS_DIRECTORY"])
        let store = S3ObjectStore(place) { try file.credentials(now: WallClock.seconds()) }
        self.init(
            layout: DataLayout(path: configuration.data), store: RetryingObjectStore(store), now: { store.storeTime },
            graceDays: configuration.objectsGraceDays)
        if let server = try configuration.database?.connection() {
            use(DatabaseName(project: configuration.project), server)
        }
    }
}
