import CommandLineTool
import Glibc
import IdentityServer
import ServerData
import SystemIO

/// The operations of administrators on a server's data, while the server runs or not.
enum Administration {
    /// Opens the accounts of the server whose data the arguments name, and makes a running server
    /// reload them after changes.
    static func run(
        _ arguments: ParsedArguments, changes: Bool = true, _ body: (IdentityService) async throws -> Void
    ) async throws -> ExitStatus {
        let path = try dataDirectory(arguments, create: changes)
        let settings = IdentityService.Configuration(issuer: "", project: "")
        let identity = try await IdentityService(directory: "\(path)/accounts", settings, now: WallClock.seconds)
        do {
            try await body(identity)
        } catch {
            await identity.close()
            throw error
        }
        await identity.close()
        // On SIGHUP the server reads its accounts and keys again.
        if changes, let server = DataDirectory.server(of: path) { kill(server, SIGHUP) }
        return .success
    }

    /// Returns the data directory that the arguments name. Root switches to the directory's owner,
    /// so that the server can use the files that are written there.
    static func dataDirectory(_ arguments: ParsedArguments, create: Bool = false) throws -> String {
        let path = try ConfigurationReader(arguments).administeredDirectory()
        umask(0o077)
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
