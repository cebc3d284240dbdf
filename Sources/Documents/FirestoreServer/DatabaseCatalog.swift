import Cryptography
package import DocumentModel
package import DocumentStore
import Synchronization
import SystemIO

/// The databases of a server in SQLite, each in a file of its own, opened at first use.
package final class DatabaseCatalog: DocumentStoreProvider {
    /// The maximum number of open databases. Each holds threads and caches.
    private static let limit = 64

    private let directory: String
    /// The database of this server's users, which always exists.
    package let main: DatabaseName
    private let mainConfiguration: SQLiteDocumentStore.Configuration
    /// Whether other databases and projects are created at first use, as in Google's emulator.
    private let opensOthers: Bool
    private let acceptsClock: Bool
    private let onDamage: @Sendable (any Error) -> Void
    private let onClockNews: @Sendable (ClockNews) -> Void
    /// The databases that are open or being opened. One that could not be opened is removed.
    private let stores = Mutex<[DatabaseName: Task<SQLiteDocumentStore, any Error>]>([:])

    /// Opens the main database.
    ///
    /// - Parameters:
    ///   - directory: The directory of the files, created if absent.
    ///   - mainConfiguration: The configuration of the main database, with the indexes and
    ///     inherited fields that other databases do not have.
    ///   - acceptsClock: Whether to open the database although the clock is long after the newest
    ///     commit.
    ///   - onDamage: Receives reports of documents that cannot be read.
    ///   - onClockNews: Receives reports of jumps of the system's clock.
    package init(
        directory: String, main: DatabaseName, opensOthers: Bool,
        mainConfiguration: SQLiteDocumentStore.Configuration = .init(), acceptsClock: Bool = false,
        onDamage: @escaping @Sendable (any Error) -> Void = { _ in },
        onClockNews: @escaping @Sendable (ClockNews) -> Void = { _ in }
    ) async throws {
        (self.acceptsClock, self.onDamage, self.onClockNews) = (acceptsClock, onDamage, onClockNews)
        self.directory = directory
        self.main = main
        self.mainConfiguration = mainConfiguration
        self.opensOthers = opensOthers
        try FileSystem.makeDirectories(directory, mode: 0o700)
        _ = try await store(main)
    }

    /// Returns the store of a database.
    ///
    /// - Throws: `DocumentStoreError` with `.notFound` for a database that this server does not
    ///   offer.
    package func store(_ name: DatabaseName) async throws -> any DocumentStore { try await open(name) }

    private func open(_ name: DatabaseName) async throws -> SQLiteDocumentStore {
        let opening = try stores.withLock { stores in
            if let store = stores[name] { return store }
            guard name == main || opensOthers else {
                throw DocumentStoreError(
                    .notFound, "The database \(name.database) does not exist for project \(name.project).")
            }
            guard stores.count < Self.limit else {
                throw DocumentStoreError(.resourceExhausted, "This server has \(Self.limit) databases already.")
            }
            let path = path(of: name)
            // A detached task, because the first caller may be cancelled while others wait for the
            // same database.
            var configuration = name == main ? mainConfiguration : SQLiteDocumentStore.Configuration()
            configuration.onDamage = onDamage
            configuration.uptime = SQLiteDocumentStore.systemUptime
            configuration.acceptsClock = acceptsClock
            configuration.onClockNews = onClockNews
            let opening = Task.detached { [configuration] in
                try await SQLiteDocumentStore(name, path: path, configuration: configuration)
            }
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

    /// Returns the path of a database's file: a fixed name for the main database, a hash of the
    /// name for others, so that no name can lead outside the directory.
    private func path(of name: DatabaseName) -> String {
        name == main ? "\(directory)/main.db" : "\(directory)/\(SHA256.hash(name.description).hex.prefix(32)).db"
    }

    /// The time by which commits in the main database are ahead of the clock; nil if they are not.
    package func leadOfCommits() async throws -> Duration? { try await open(main).leadOfCommits }

    package func close() async {
        let open = stores.withLock { stores in
            defer { stores = [:] }
            return Array(stores.values)
        }
        for opening in open { await (try? opening.value)?.close() }
    }
}
