import DocumentModel
import DocumentStore
import Identity

/// The documents and objects of a server.
struct Stores: Sendable {
    let catalog: DatabaseCatalog
    let buckets: BucketStore

    /// Opens both, and makes the users' bucket where it is absent.
    init(_ directory: DataDirectory, _ configuration: ServerConfiguration) async throws {
        catalog = try await DatabaseCatalog(
            directory: directory.documents, main: DatabaseName(project: configuration.project),
            opensOthers: configuration.isEmulator)
        do {
            buckets = try BucketStore(directory: directory.objects)
            _ = try await buckets.createBucket(ServerEndpoints.bucket, now: WallClock.microseconds())
            try await buckets.discardReleased()
        } catch {
            await catalog.close()
            throw error
        }
    }

    /// Reads from both; throws, or does not return, when they cannot do their work.
    func probe() async throws {
        let main = try await catalog.store(catalog.main)
        _ = try await main.get([try DocumentName(database: catalog.main, path: "health/check")], at: .strong)
        _ = try await buckets.index.read { try $0.hasBucket(ServerEndpoints.bucket) }
    }

    /// What an account uses.
    func usage(of user: String) async throws -> AccountUsage {
        let documents = try await catalog.store(catalog.main).documentCount(of: user)
        return AccountUsage(
            objectBytes: try buckets.index.readHere { try $0.usage(of: user) }, documents: documents)
    }

    func close() async {
        await catalog.close()
        await buckets.close()
    }
}
