import CommandLineTool
import DocumentModel
import DocumentStore
import FirestoreServer
import Glibc
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
        options: [.data, .project, .config],
        action: { arguments in
            let path = try Administration.dataDirectory(arguments)
            let lines = DocumentLines(
                database: DatabaseName(project: try ConfigurationReader(arguments).configuration().project))
            let source = "\(path)/\(DataLayout.documents)"
            guard FileSystem.exists(source) else {
                throw ServerError(
                    .notFound, "There are no documents in \(path). Name a server's directory with --data.")
            }
            guard let target = arguments.argument("FILE") else {
                let output = FileDescriptor(owning: dup(STDOUT_FILENO), path: "standard output")
                try report(damaged: try lines.write(documentsOf: source, to: output).damaged)
                return .success
            }
            let partial = "\(target).partial"
            let damaged: [String]
            do {
                let output = try FileDescriptor(path: partial, [.readWrite, .create, .truncate], mode: 0o600)
                let count: Int
                (count, damaged) = try lines.write(documentsOf: source, to: output)
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
        "import", summary: "stores documents from lines of JSON, while the server is stopped",
        discussion: """
            Reads what 'export' writes. Documents with the same names are replaced, others stay. They get new times, and
            listeners are notified of them like of any change. Nothing is stored unless every line is valid.

                ferry-server import documents.ndjson --data /srv/ferry
            """,
        group: "Care",
        arguments: [Argument("FILE", summary: "the file to read", completion: .files)],
        options: [.data, .project, .config],
        action: { arguments in
            let configuration = try ConfigurationReader(arguments).configuration()
            let database = DatabaseName(project: configuration.project)
            let directory = try DataDirectory(path: try Administration.dataDirectory(arguments, create: true))
            try FileSystem.makeDirectories(directory.documents, mode: 0o700)
            let store = try await SQLiteDocumentStore(
                database, path: "\(directory.path)/\(DataLayout.documents)")
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
