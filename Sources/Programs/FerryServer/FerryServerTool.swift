import CommandLineTool
import ServerData
import SystemIO

/// The `ferry-server` program.
package enum FerryServerTool {
    package static let version = packageVersion
    static let releaseDate = "2026-11-21"

    /// The command with all subcommands, in the order of the help.
    static let command: Command = Command(
        "ferry-server", summary: "stores documents, objects and accounts for the machines of its users",
        discussion: """
            Documents are served over google.firestore.v1, objects over S3, accounts over the Identity Toolkit's REST
            with OpenID Connect tokens. 'ferry login' needs only one URL. All data is in one directory.

                ferry-server run --data /srv/ferry --http 127.0.0.1:7441 --documents 127.0.0.1:7440
            """,
        subcommands: [
            .run, .setup, .health, .user, .invite, .keys, .backup, .restore, .replicate, .promote, .check, .repairClock,
            .export,
            .import,
            .objects, .rules,
            .completion, .manual,
        ],
        defaultSubcommand: "run")

    /// Runs a command line and returns the exit status. Errors are printed on standard error.
    package static func run(_ words: [String]) async -> Int32 {
        let console = Console()
        do {
            switch try command.parse(words) {
            case .help(let text):
                console.print(String(text.dropLast(text.hasSuffix("\n") ? 1 : 0)))
                return ExitStatus.success.code
            case .version:
                console.print("ferry-server \(version)")
                return ExitStatus.success.code
            case .run(let command, let arguments):
                guard let action = command.action else { return ExitStatus.usage.code }
                return try await action(arguments).code
            }
        } catch let error as UsageError {
            let path = ([command.name] + error.path).joined(separator: " ")
            console.note("ferry-server: \(error.message)\n  '\(path) --help' shows how.")
            // The options of the server itself are its configuration.
            let serves = words.first.map { $0 == "run" || $0.hasPrefix("-") } ?? true
            return (serves ? ExitStatus.badConfiguration : .usage).code
        } catch let error as ServerError {
            console.note("ferry-server: \(error.message)")
            return (error.code == .configuration ? ExitStatus.badConfiguration : .failure).code
        } catch is CancellationError {
            return ExitStatus.interrupted.code
        } catch {
            console.note("ferry-server: \(error)")
            return ExitStatus.failure.code
        }
    }

    static let manualSections: [(title: String, text: String)] = [
        (
            "Configuration file",
            """
            The file that --config names is YAML with the names of the options as keys: data, documents, http, tls-cert, tls-key,
            url, documents-url, trusted-proxy, metrics, database, database-password, objects, objects-region, objects-keys, project, insecure, emulator, sign-up,
            quota-objects, quota-documents, quota-requests, objects-grace, rules, openid, smtp, smtp-from, smtp-password, log-level. Options on the command line win. Without
            --config the system's server, and root's commands for it, read /etc/ferry-server.yaml, which 'ferry-server setup'
            writes. SIGHUP reads the file again; the log names what needs a restart.

                documents: 0.0.0.0:7440
                http: 0.0.0.0:7441
                tls-cert: /etc/ferry/chain.pem
                tls-key: /etc/ferry/key.pem

            Behind a proxy that terminates TLS, the server listens on loopback, and url is the URL of the proxy, which
            clients learn from the server. The proxy passes paths that begin with /google.firestore.v1.Firestore/ to
            documents as gRPC, and all others to http with the original Host header, without a size limit. If documents
            have a port of their own at the proxy, documents-url names it.

                url: https://tasks.example.org
            """
        ),
        (
            "Exit status",
            """
            0 done

            1 failed; a port or the directory may be in use

            2 wrong usage of a command other than run

            78 bad configuration: an option, a key, or a file that it names cannot be used

            130 interrupted
            """
        ),
        (
            "Environment",
            "STATE_DIRECTORY, which systemd sets, is the data directory if --data is not given."
        ),
        ("See also", "ferry(1), ferryd(8)"),
    ]
}

extension ExitStatus {
    /// EX_CONFIG of sysexits(3), with which the unit does not restart.
    static let badConfiguration = ExitStatus(78)
    static let interrupted = ExitStatus(130)
}
