import BucketStore
import CommandLineTool
import Glibc
import ServerData
import SystemIO

extension Command {
    static let objects: Command = Command(
        "objects", summary: "checks the objects of attachments and removes unused ones", group: "Care",
        subcommands: [
            Command(
                "check", summary: "reports which objects are needed, unused or missing; changes nothing",
                options: [.objects, .objectsKeys, .data, .config], action: { try await collect($0, changes: false) }),
            Command(
                "gc", summary: "removes objects that no document has needed for a while, even while the server runs",
                discussion: """
                    Objects without a reference are first marked for deletion. A later run removes them if they are
                    still unused after the grace period. A running server does the same once a day. Multipart uploads
                    that were started over a week ago are aborted. In a bucket of another S3 store this works with the
                    keys that objects-keys names.
                    """,
                options: [
                    Option(
                        "grace", value: "DAYS",
                        summary:
                            "grace period in days, longer than any machine stays offline after an upload (default: objects-grace)"
                    ),
                    .objects, .objectsKeys, .data, .config,
                ],
                action: { arguments in
                    let status = try await collect(arguments, changes: true)
                    let problems = try await giveBack(try Administration.dataDirectory(arguments))
                    for problem in problems { Console().note("ferry-server: \(problem)") }
                    return problems.isEmpty ? status : .failure
                }),
        ])
}

private func collect(_ arguments: ParsedArguments, changes: Bool) async throws -> ExitStatus {
    var configuration = try ConfigurationReader(arguments).configuration()
    if let days = try arguments.integer("grace", in: ServerConfiguration.objectsGraceRange) {
        configuration.objectsGraceDays = days
    }
    configuration.data = try Administration.dataDirectory(arguments)
    let collection = ObjectCollection(
        layout: DataLayout(path: configuration.data), now: WallClock.microseconds(),
        grace: ObjectCollection.microseconds(days: configuration.objectsGraceDays),
        keepsAttachments: configuration.objects == nil)
    let console = Console()
    var status = tell(try collection.run(changes: changes), changes: changes, console)
    guard let bucket = configuration.objects else { return status }
    console.print("in \(bucket):")
    if let collection = try ForeignCollection(configuration) {
        let other = tell(try await collection.run(changes: changes), changes: changes, console)
        if other != .success { status = other }
    } else {
        console.note(
            """
            ferry-server: nothing is checked or removed there, because the server has no keys for it; name a file with keys as \
            objects-keys
            """)
    }
    return status
}

private func tell(_ report: CollectionReport, changes: Bool, _ console: Console) -> ExitStatus {
    console.print("needed: \(report.needed.objects) objects, \(report.needed.bytes) bytes")
    console.print("unused: \(report.unused.objects) objects, \(report.unused.bytes) bytes")
    console.print(
        "\(changes ? "removed" : "to remove"): \(report.removed.objects) objects, \(report.removed.bytes) bytes")
    if report.expiredUploads > 0 { console.print("multipart uploads aborted: \(report.expiredUploads)") }
    for problem in report.problems { console.note("ferry-server: \(problem)") }
    return report.problems.isEmpty ? .success : .failure
}

/// Reclaims space within segments: by the running server, or here if none runs. Returns the damaged
/// objects that could not be moved.
private func giveBack(_ path: String) async throws -> [String] {
    guard FileSystem.exists("\(path)/\(DataLayout.index)") else { return [] }
    if let server = DataDirectory.server(of: path) {
        kill(server, SIGHUP)
        return []
    }
    let directory = try DataDirectory(path: path)
    let store = try DirectoryBucketStore(directory: directory.objects)
    do {
        let problems = try await store.reclaimSpace()
        await store.close()
        return problems
    } catch {
        await store.close()
        throw error
    }
}
