import BucketStore
import DocumentModel
import DocumentStore
import FirestoreServer
import IdentityProtocol
import IdentityServer
import ObjectStorage
import PostgreSQL
import PostgresStore
import ServerData
import SystemIO
import SystemService

/// The documents and objects of a server.
struct Stores: Sendable {
    let catalog: DatabaseCatalog
    let buckets: DirectoryBucketStore
    /// The database of the accounts; nil if they are in the data directory.
    let accounts: AccountStorage?
    /// The lease for the removal of accounts, which one of the servers on the database does; nil without
    /// a database.
    let lease: PostgresLease?
    private let peers: PostgresPeers?

    /// Texts that are not searched for as a whole, and maps whose keys are ids. An attachment alone
    /// would take about twelve index entries.
    private static let indexExemptions = Set(
        ["notes", "layout", "attachments", "instances", "snoozes", "origins", "signatures"].map {
            IndexExemption(collectionID: "tasks", field: $0)
        })
    /// The history below a task belongs to the task's list, by which collection groups are queried.
    private static let inheritedFields: Set<String> = ["listId"]

    /// Opens both, and creates the users' bucket if it is absent.
    init(
        _ directory: DataDirectory, _ configuration: ServerConfiguration, _ metrics: Metrics, _ logger: Logger
    ) async throws {
        let server = try configuration.database?.connection()
        if server != nil {
            // Commands that read the data directory, such as the collection of unused objects, would
            // take old documents there for the present ones.
            for (file, content) in [(DataLayout.documents, "documents"), (DataLayout.accounts, "accounts")]
            where FileSystem.exists("\(directory.path)/\(file)") {
                throw ServerError(
                    .configuration,
                    "\(directory.path) has \(content) of its own. Use another data directory with database, or leave that out."
                )
            }
        }
        peers = if let server { try await PostgresPeers(server) } else { nil }
        accounts = server.map { [peers] in .database($0, peers) }
        lease = server.map { PostgresLease("removal of accounts", $0) }
        catalog = try await Self.catalog(directory, configuration, server, peers, metrics, logger)
        if let lead = try await catalog.leadOfCommits() {
            logger.warning(
                """
                commits are ahead of the system's clock, which was wrong once: their times hardly grow until then. If the clock is \
                right now, stop the server and run 'ferry-server repair-clock'
                """, ["days": "\(lead.components.seconds / 86_400)"])
        }
        do {
            buckets = try DirectoryBucketStore(directory: directory.objects)
            _ = try await buckets.createBucket(DataLayout.bucket, now: WallClock.microseconds())
            try await buckets.discardReleased()
        } catch {
            await catalog.close()
            throw error
        }
    }

    private static func catalog(
        _ directory: DataDirectory, _ configuration: ServerConfiguration, _ server: PostgresConfiguration?,
        _ peers: PostgresPeers?, _ metrics: Metrics, _ logger: Logger
    ) async throws -> DatabaseCatalog {
        let main = DatabaseName(project: configuration.project)
        let onDamage = FaultLog(logger, "a document is damaged, and listeners are not notified of it").note
        if let server {
            try FileSystem.makeDirectories(directory.documents, mode: 0o700)
            return try await DatabaseCatalog(main: main, opensOthers: configuration.isEmulator) { name in
                var store = PostgresDocumentStore.Configuration()
                if name == main { (store.indexExemptions, store.inheritedFields) = (indexExemptions, inheritedFields) }
                (store.onDamage, store.peers, store.metrics) = (onDamage, peers, metrics)
                return try await PostgresDocumentStore(name, server, configuration: store)
            }
        }
        var store = SQLiteDocumentStore.Configuration()
        (store.indexExemptions, store.inheritedFields) = (indexExemptions, inheritedFields)
        return try await DatabaseCatalog(
            directory: directory.documents, main: main, opensOthers: configuration.isEmulator,
            mainConfiguration: store, acceptsClock: configuration.acceptsClock, onDamage: onDamage,
            onClockNews: { $0.log(to: logger) })
    }

    /// Reads from both. Throws, or does not return, if they do not work.
    func probe() async throws {
        let main = try await catalog.store(catalog.main)
        _ = try await main.get([try DocumentName(database: catalog.main, path: "health/check")], at: .strong)
        _ = try await buckets.index.read { try $0.hasBucket(DataLayout.bucket) }
    }

    /// Returns an account's usage.
    func usage(of user: String) async throws -> AccountUsage {
        let documents = try await catalog.store(catalog.main).documentCount(of: user)
        return AccountUsage(
            objectBytes: try buckets.index.readHere { try $0.usage(of: user) }, documents: documents)
    }

    func close() async {
        await catalog.close()
        await buckets.close()
        await peers?.close()
    }
}

extension ClockNews {
    fileprivate func log(to logger: Logger) {
        switch self {
        case .jumped(let microseconds):
            logger.warning(
                "the system's clock has jumped forward; commit times go on without it, unless it stays so for an hour",
                ["days": "\(microseconds / 86_400_000_000)"])
        case .isBack: logger.notice("the system's clock is back")
        case .accepted: logger.warning("the system's clock has stayed where it jumped to, and counts from now on")
        }
    }
}

extension Stores {
    /// Returns the bytes of a manifest among the users' objects; nil if there is none.
    func manifest(at key: String) async throws -> [UInt8]? {
        let buckets = buckets
        return try await buckets.run {
            let record = try buckets.index.readHere { try $0.object(DataLayout.bucket, key) }
            guard let record, record.size <= Manifest.byteLimit else { return nil }
            do {
                return try buckets.open(record).read(Manifest.byteLimit, at: 0)
            } catch let error as SystemError where error.code == .notFound {
                return nil
            }
        }
    }
}
