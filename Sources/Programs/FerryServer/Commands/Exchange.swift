import CommandLineTool
import DocumentModel
import DocumentStore
import FirestoreProtocol
import FirestoreServer
import Glibc
import PostgresStore
import ServerData
import SystemIO

extension Command {
    static let export: Command = Command(
        "export", summary: "writes all documents as lines of JSON, even while the server runs",
        discussion: """
            Each line is a document in the form of the REST API, with its name and times, all as of one point in time.
            Without FILE they are written to standard output.

                ferry-server export documents.ndjson --data /srv/ferry
            """,
        group: "Care",
        arguments: [Argument("FILE", .optional, summary: "the file to create", completion: .files)],
        options: Option.place + [.project],
        action: { arguments in
            let database = DatabaseName(project: try ConfigurationReader(arguments).configuration().project)
            let lines = DocumentLines(database: database)
            let source = try source(of: database, arguments)
            guard let target = arguments.argument("FILE") else {
                let output = FileDescriptor(owning: dup(STDOUT_FILENO), path: "standard output")
                try report(damaged: try lines.write(to: output, from: source).damaged)
                return .success
            }
            let partial = "\(target).partial"
            let damaged: [String]
            do {
                let output = try FileDescriptor(path: partial, [.readWrite, .create, .truncate], mode: 0o600)
                let count: Int
                (count, damaged) = try lines.write(to: output, from: source)
                try output.synchronize()
                try FileSystem.rename(partial, to: target)
                Console().print("exported \(count) documents to \(target)")
            } catch {
                unlink(partial)
                throw error
            }
            try report(damaged: damaged)
            return .success
        })

    /// Returns what calls a closure with each document, wherever the documents are.
    private static func source(
        of database: DatabaseName, _ arguments: ParsedArguments
    ) throws -> ((EncodedDocument) throws -> Void) throws -> [String] {
        if let server = try ConfigurationReader(arguments).database() {
            return PostgresDocuments(database, try server.connection()).forEach
        }
        let path = try Administration.dataDirectory(arguments)
        let file = "\(path)/\(DataLayout.documents)"
        guard FileSystem.exists(file) else {
            throw ServerError(.notFound, "There are no documents in \(path). Name a server's directory with --data.")
        }
        return DocumentDatabaseFile(database, path: file).forEachDocument
    }

    /// Names the documents that were left out, and throws if there are any.
    private static func report(damaged: [String]) throws {
        for path in damaged { Console().note("\(path) is damaged and was left out") }
        guard damaged.isEmpty else {
            throw ServerError(
                .damaged,
                "\(damaged.count) damaged documents were left out; all others were written. Restore these from a backup."
            )
        }
    }

    static let `import`: Command = Command(
        "import", summary: "stores documents from lines of JSON, while the server is stopped or in a database",
        discussion: """
            Reads what 'export' writes. Documents with the same names are replaced, others stay. They get new times, and
            listeners are notified of them like of any change. Nothing is stored unless every line is valid.

            With --database FILE may be the data directory of a server that is stopped. Its accounts, their sessions and
            keys come along then, into a database without accounts. No machine has to sign in again; each asks for 'ferry rebind'.

                ferry-server import documents.ndjson --data /srv/ferry
            """,
        group: "Care",
        arguments: [Argument("FILE", summary: "the file to read", completion: .files)],
        options: Option.place + [.project],
        action: { arguments in
            let configuration = try ConfigurationReader(arguments).configuration()
            let database = DatabaseName(project: configuration.project)
            if let server = configuration.database {
                let stored = try await DatabaseImport(project: configuration.project, server.connection())
                    .run(arguments.argument("FILE") ?? "")
                Console().print("imported \(stored) into the database")
                return .success
            }
            let directory = try DataDirectory(path: try Administration.dataDirectory(arguments, create: true))
            try FileSystem.makeDirectories(directory.documents, mode: 0o700)
            let store = try await SQLiteDocumentStore(database, path: "\(directory.path)/\(DataLayout.documents)")
            do {
                let count = try await DocumentLines(database: database)
                    .read(arguments.argument("FILE") ?? "", into: store)
                await store.close()
                Console().print("imported \(count) documents into \(directory.path)")
            } catch {
                await store.close()
                throw error
            }
            return .success
        })
}
