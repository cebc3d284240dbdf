import CommandLineTool
import DocumentModel
import Glibc
import IdentityServer
import ServerData
import SystemIO

/// The operations of administrators on a server's data, while the server runs or not.
enum Administration {
    /// Opens the accounts of the server whose data the arguments name, and makes a running server
    /// reload them after changes. Servers on a database notice changes themselves.
    static func run(
        _ arguments: ParsedArguments, changes: Bool = true, _ body: (IdentityService) async throws -> Void
    ) async throws -> ExitStatus {
        let database = try ConfigurationReader(arguments).database()
        let path = try database == nil ? dataDirectory(arguments, create: changes) : ""
        let settings = IdentityService.Configuration(issuer: "", project: "")
        let identity = try await IdentityService(
            try database.map { .database(try $0.connection(), nil) } ?? .directory("\(path)/accounts"), settings,
            now: WallClock.seconds)
        do {
            try await body(identity)
        } catch {
            await identity.close()
            throw error
        }
        await identity.close()
        // On SIGHUP the server reads its accounts and keys again.
        if changes, database == nil, let server = DataDirectory.server(of: path) { kill(server, SIGHUP) }
        return .success
    }

    /// Returns the usage of the accounts.
    static func usage(_ arguments: ParsedArguments) throws -> StoredUsage {
        let reader = try ConfigurationReader(arguments)
        guard let server = try reader.database() else { return try StoredUsage(dataDirectory(arguments)) }
        let project = try reader.configuration(administering: "").project
        return try StoredUsage(DatabaseName(project: project), server.connection())
    }

    /// Returns the data directory that the arguments name. Root switches to the directory's owner,
    /// so that the server can use the files that are written there.
    static func dataDirectory(_ arguments: ParsedArguments, create: Bool = false) throws -> String {
        let reader = try ConfigurationReader(arguments)
        guard try arguments.has("data") || reader.database() == nil else {
            throw ServerError(
                .configuration,
                "The configuration names a database, for which this command is not. Use PostgreSQL's own, such as pg_dump."
            )
        }
        let path = try reader.administeredDirectory()
        umask(0o077)
        try DataDirectory.refuseStandby(path)
        guard FileSystem.exists(path) || create else {
            throw ServerError(.notFound, "There is no server data in \(path). Name the data directory with --data.")
        }
        var status = stat()
        if geteuid() == 0, stat(path, &status) == 0, status.st_uid != 0 {
            guard setegid(status.st_gid) == 0, seteuid(status.st_uid) == 0 else {
                throw ServerError(.failed, "\(path) belongs to user \(status.st_uid); run the command as that user.")
            }
        }
        // This runs as that user, because the server could not write to a directory of root's.
        try FileSystem.makeDirectories("\(path)/accounts", mode: 0o700)
        return path
    }
}
