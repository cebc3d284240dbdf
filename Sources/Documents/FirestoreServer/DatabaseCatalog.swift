import Cryptography
package import DocumentModel
package import DocumentStore
import Synchronization
import SystemIO

/// Databases in SQLite, each in a file of its own, opened at first use.
package final class DatabaseCatalog: DocumentStoreProvider {
    /// Databases at a time. Each holds threads and caches.
    private static let limit = 64

    private let directory: String
    /// The database of this server's users; always there.
    package let main: DatabaseName
    private let mainConfiguration: SQLiteDocumentStore.Configuration
    /// Whether other databases and projects appear on first use, as Google's emulator has it.
    private let opensOthers: Bool
    private let acceptsClock: Bool
    private let onDamage: @Sendable (any Error) -> Void
    private let onClockNews: @Sendable (ClockNews) -> Void
    /// Those that are open or about to be. One that could not be opened is not kept.
    private let stores = Mutex<[DatabaseName: Task<SQLiteDocumentStore, any Error>]>([:])

    /// - Parameters:
    ///   - directory: made if absent.
    ///   - mainConfiguration: what the main database has that others do not: its indexes and inherited fields.
    ///   - acceptsClock: opens although the clock is long after the newest commit.
    ///   - onDamage: is notified of documents that cannot be read.
    ///   - onClockNews: is notified when the system's clock jumps.
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

    /// - Throws: `DocumentStoreError` with `.notFound` for a database that is not to be.
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
            // Whoever asks first may be cancelled while others wait for the same database.
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

    /// The main database under a fixed name, others by the hash of theirs: no name can leave the directory.
    private func path(of name: DatabaseName) -> String {
        name == main ? "\(directory)/main.db" : "\(directory)/\(SHA256.hash(name.description).hex.prefix(32)).db"
    }

    /// How far commits are ahead of the clock, in the main database; nil where they are not.
    package func leadOfCommits() async throws -> Duration? { try await open(main).leadOfCommits }

    package func close() async {
        let open = stores.withLock { stores in
            defer { stores = [:] }
            return Array(stores.values)
        }
        for opening in open { await (try? opening.value)?.close() }
    }
}
