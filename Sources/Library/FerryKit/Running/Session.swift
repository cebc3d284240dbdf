import DocumentClient
import DocumentCoding
import DocumentModel
import ObjectStorage
import Synchronization
import SystemIO

/// The documents of one account on this machine, with the connection that keeps them up to date.
final class Session: Sendable {
    /// The account; nil for a server without accounts.
    let userID: String?
    let database: DatabaseName
    let client: DocumentDatabase
    /// Reads from the server what is not here.
    var reader: RemoteReader { RemoteReader(client) }
    private let connection: RemoteConnection
    private let files: FileService?
    private let work = Mutex<Task<Void, Never>?>(nil)

    /// Opens the state of an account.
    ///
    /// - Parameter objects: the store of files; nil if the server keeps none.
    init(
        userID: String?, database: DatabaseName, connection: RemoteConnection, objects: (any ObjectStore)?,
        directory: String, policies: MergingPolicies
    ) async throws {
        self.userID = userID
        self.database = database
        self.connection = connection
        var options = ClientOptions()
        options.policies = RebasePolicies(others: policies)
        options.remoteIdentity = "\(database) \(userID ?? "")"
        // The receipt is a document of the account, by which an increment whose answer was lost is
        // found out to have been counted.
        options.replicaID = DocumentID.make()
        options.receipts = CommitReceipts(
            collection: "receipts", fields: userID.map { ["userId": .string($0)] } ?? [:])
        client = try DocumentDatabase(
            path: "\(directory)/documents", database: database, remote: connection.documents, options: options)
        do {
            files =
                if let objects {
                    try await FileService(
                        client: client, database: database, store: objects, user: userID ?? "all",
                        directory: directory)
                } else { nil }
        } catch {
            await client.close()
            connection.close()
            throw error
        }
    }

    /// The files of the account.
    var fileService: FileService {
        get throws {
            guard let files else { throw FerryError(.file, "This server keeps no files.") }
            return files
        }
    }

    /// Begins to exchange changes with the server.
    func start(reporting report: @escaping @Sendable (Status) -> Void) {
        let (client, connection, files) = (client, connection, files)
        let status = Mutex(Status())
        let change: @Sendable ((inout Status) -> Void) -> Void = { body in
            report(
                status.withLock { status in
                    body(&status)
                    return status
                })
        }
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await news in await client.statuses { change { $0.update(news) } } }
                // The state file failed, which the next operation reports.
                group.addTask { try? await client.run() }
                if let files {
                    group.addTask { await files.run() }
                    group.addTask {
                        for await transfers in files.list.stream { change { $0.activeTransfers = transfers.count } }
                    }
                }
                for await _ in group {}
            }
            await client.close()
            connection.close()
        }
        work.withLock { $0 = task }
    }

    /// Reports that the network has returned.
    func networkChanged() async {
        await client.networkChanged()
        files?.encourage()
    }

    /// Whether files are on their way to the server, or wait for that.
    var isUploading: Bool { files?.list.latest.contains { $0.isUpload } ?? false }

    /// Ends the exchange and closes the state.
    func close() async {
        guard let task = work.withLock({ $0.take() }) else {
            await client.close()
            return connection.close()
        }
        task.cancel()
        await client.close()
        await task.value
    }

    func name(_ path: String) throws -> DocumentName {
        do { return try DocumentName(database: database, path: path) } catch {
            throw FerryError(.invalid, error.message, cause: error)
        }
    }

    // MARK: Reading once

    func document(_ name: DocumentName, _ source: Source) async throws -> DocumentSnapshot {
        switch source {
        case .cache: return try await client.document(name)
        case .server: return try await reader.document(name)
        case .cacheElseServer, .cacheThenServer:
            let known = try await client.document(name)
            guard known.exists || known.hasPendingWrites else { return try await reader.document(name) }
            if source == .cacheThenServer { renew { try await $0.document(name) } }
            return known
        case .serverElseCache:
            do { return try await reader.document(name) } catch let error as RemoteError where error.code.isTransient {
                return try await client.document(name)
            }
        }
    }

    func documents(
        _ query: DatabaseQuery, _ source: Source
    ) async throws -> (found: [DocumentSnapshot], isFromCache: Bool) {
        switch source {
        case .cache: return (try await client.documents(query), true)
        case .server: return (try await reader.documents(query), false)
        case .cacheElseServer, .cacheThenServer:
            guard try await client.hasResults(of: query) else { return (try await reader.documents(query), false) }
            if source == .cacheThenServer { renew { try await $0.documents(query) } }
            return (try await client.documents(query), true)
        case .serverElseCache:
            do { return (try await reader.documents(query), false) } catch let error as RemoteError
                where error.code.isTransient
            {
                return (try await client.documents(query), true)
            }
        }
    }

    /// Reads from the server what was answered from this machine. A failure leaves that as it is.
    private func renew<Result>(_ body: @escaping @Sendable (RemoteReader) async throws -> Result) {
        let reader = reader
        Task { _ = try? await body(reader) }
    }
}
