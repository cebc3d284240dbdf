import CivilTime
import CommandLineTool
import Glibc
import ServerData
import SystemIO
import SystemService

extension Command {
    static let replicate: Command = Command(
        "replicate", summary: "keeps a copy of another server's data, to take its place",
        discussion: """
            Copies what has changed every few seconds, until it is stopped: documents, accounts, keys and attachments. If the
            other server is lost, 'ferry-server promote' makes the copy a server's data. Commits of the last seconds before that may
            not be in it; the machines that made them notice, and send them again after 'ferry rebind'. The key is made there:

                ferry-server keys add --standby > key.json
                ferry-server replicate --from https://tasks.example.org --key key.json --data /srv/ferry
            """,
        group: "Care",
        options: [
            Option("from", value: "URL", summary: "the server whose data is copied"),
            Option("key", value: "FILE", summary: "a key of 'keys add --standby' there", completion: .files),
            Option("ca", value: "FILE", summary: "certificates to trust in place of the system's", completion: .files),
            Option("interval", value: "SECONDS", summary: "time between two copies (default 5; 1 to 86400)"),
            Option("once", summary: "copy once, and end"), .data, .config,
        ],
        action: { arguments in
            guard let url = arguments.value("from"), let key = arguments.value("key") else {
                throw UsageError("'replicate' needs --from URL and --key FILE")
            }
            umask(0o077)
            let directory = try DataDirectory(path: try ConfigurationReader(arguments).dataDirectory(), isStandby: true)
            let client = try StandbyClient(url: url, key: key, authorities: arguments.value("ca"))
            let copy = try StandbyCopy(DataLayout(path: directory.path), from: client)
            if arguments.has("once") {
                let summary = try await copy.pull()
                Console().print(
                    "copied \(summary.databases) databases and \(summary.objects) objects, \(summary.bytes) bytes")
                return .success
            }
            let interval = Duration.seconds(try arguments.integer("interval", in: 1...86_400) ?? 5)
            let logger = Logger(label: "replicate", level: .info) { StandardErrorLog.shared.write($0) }
            let supervisor = Supervisor()
            let service = ReplicationService(copy, every: interval, logger: logger) {
                Console().print("ready copy of \(client.url)")
                supervisor.ready(status: "Copying \(client.url)")
            }
            try await ServiceGroup([.init("replication", service)], logger: logger, supervisor: supervisor)
                .run(signals: try SignalEvents([.terminate, .interrupt]))
            withExtendedLifetime(directory) {}
            return .success
        })

    static let promote: Command = Command(
        "promote", summary: "makes the copy of 'replicate' the data of a server",
        discussion: """
            Stop 'replicate' first. Refuses while the former server answers, or accepts connections and is silent: two servers
            would take different commits. Only a refused connection or an unknown name shows that it is gone. Then run
            'ferry-server run' on the directory, at the address of the former server, which must not come back with its data.
            """,
        group: "Care",
        options: [
            Option("force", summary: "promote although the former server may still be there"), .data, .config,
        ],
        action: { arguments in
            let path = try ConfigurationReader(arguments).dataDirectory()
            let layout = DataLayout(path: path)
            guard let state = try StandbyState(in: layout) else {
                throw ServerError(.notFound, "\(path) is not the copy of a standby.")
            }
            umask(0o077)
            let directory = try DataDirectory(path: path, isStandby: true)
            let presence = arguments.has("force") ? .absent : await StandbyClient.presence(state.source)
            guard presence == .absent else {
                let finding = presence == .answering ? "still answers" : "does not answer in time, and may only be slow"
                throw ServerError(
                    .inUse,
                    "\(state.source) \(finding). Stop that server; if it is certainly gone, repeat this with --force.")
            }
            let former = try StandbyCopy.promote(layout, now: WallClock.microseconds())
            withExtendedLifetime(directory) {}
            let time = former.asOf.map { UTCTime(microseconds: $0).rfc3339(fraction: .milliseconds) } ?? ""
            Console().print("\(path) is a server's data, with all that \(former.source) had acknowledged at \(time)")
            return .success
        })
}
