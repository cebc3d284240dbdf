import Cryptography
package import DocumentModel
package import DocumentStore
import Synchronization
import SystemIO

/// The databases of a server, opened at first use.
package final class DatabaseCatalog: DocumentStoreProvider {
    /// The maximum number of open databases. Each holds threads and caches.
    private static let limit = 64

    /// The database of this server's users, which always exists.
    package let main: DatabaseName
    /// Whether other databases and projects are created at first use, as in Google's emulator.
    private let opensOthers: Bool
    private let open: @Sendable (DatabaseName) async throws -> any OpenDocumentStore
    /// The databases that are open or being opened. One that could not be opened is removed.
    private let stores = Mutex<[DatabaseName: Task<any OpenDocumentStore, any Error>]>([:])

    /// Opens the main database.
    ///
    /// - Parameter open: opens a database, and creates it if necessary.
    package init(
        main: DatabaseName, opensOthers: Bool,
        open: @escaping @Sendable (DatabaseName) async throws -> any OpenDocumentStore
    ) async throws {
        self.main = main
        self.opensOthers = opensOthers
        self.open = open
        _ = try await store(main)
    }

    /// Opens the main database in SQLite, each database in a file of its own.
    ///
    /// - Parameters:
    ///   - directory: The directory of the files, created if absent.
    ///   - mainConfiguration: The configuration of the main database, with the indexes and
    ///     inherited fields that other databases do not have.
    ///   - acceptsClock: Whether to open the database although the clock is long after the newest
    ///     commit.
    ///   - onDamage: Receives reports of documents that cannot be read.
    ///   - onClockNews: Receives reports of jumps of the system's clock.
    package convenience init(
        directory: String, main: DatabaseName, opensOthers: Bool,
        mainConfiguration: SQLiteDocumentStore.Configuration = .init(), acceptsClock: Bool = false,
        onDamage: @escaping @Sendable (any Error) -> Void = { _ in },
        onClockNews: @escaping @Sendable (ClockNews) -> Void = { _ in }
    ) async throws {
        try FileSystem.makeDirectories(directory, mode: 0o700)
        try await self.init(main: main, opensOthers: opensOthers) { name in
            var configuration = name == main ? mainConfiguration : SQLiteDocumentStore.Configuration()
            configuration.onDamage = onDamage
            configuration.uptime = StoreClock.uptime
            configuration.acceptsClock = acceptsClock
            configuration.onClockNews = onClockNews
            // A fixed name for the main database, a hash of the name for others, so that no name can
            // lead outside the directory.
            let file = name == main ? "main" : String(SHA256.hash(name.description).hex.prefix(32))
            return try await SQLiteDocumentStore(name, path: "\(directory)/\(file).db", configuration: configuration)
        }
    }

    /// Returns the store of a database.
    ///
    /// - Throws: `DocumentStoreError` with `.notFound` for a database that this server does not
    ///   offer.
    package func store(_ name: DatabaseName) async throws -> any DocumentStore { try await opened(name) }

    private func opened(_ name: DatabaseName) async throws -> any OpenDocumentStore {
        let opening = try stores.withLock { stores in
            if let store = stores[name] { return store }
            guard name == main || opensOthers else {
                throw DocumentStoreError(
                    .notFound, "The database \(name.database) does not exist for project \(name.project).")
            }
            guard stores.count < Self.limit else {
                throw DocumentStoreError(.resourceExhausted, "This server has \(Self.limit) databases already.")
            }
            // A detached task, because the first caller may be cancelled while others wait for the
            // same database.
            let opening = Task.detached { [open] in try await open(name) }
            stores[name] = opening
            return opening
        }
        do {
            return try await opening.value
        } catch {
            stores.withLock { if $0[name] == opening { $0[name] = nil } }
            throw error
        }
    }

    /// The time by which commits in the main database are ahead of the clock; nil if they are not.
    package func leadOfCommits() async throws -> Duration? { try await opened(main).leadOfCommits }

    package func close() async {
        let open = stores.withLock { stores in
            defer { stores = [:] }
            return Array(stores.values)
        }
        for opening in open { await (try? opening.value)?.close() }
    }
}
