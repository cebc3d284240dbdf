import CommandLineTool
import Glibc
import SystemIO

extension Command {
    static let objects: Command = Command(
        "objects", summary: "the attachments' chunks: what is needed, and what is not any more", group: "Care",
        subcommands: [
            Command(
                "check", summary: "tells what is needed, unused and missing; changes nothing",
                options: [.objects, .data, .config], action: { try collect($0, changes: false) }),
            Command(
                "gc", summary: "takes away what no document has needed for a while, also while the server runs",
                discussion: """
                    What nothing refers to is put aside first, and removed by a later run once it has been aside for the grace without
                    anybody needing it again. A running server does the same once a day. Multipart uploads that were begun a
                    week ago are given up. From a bucket of another S3 store nothing is taken away.
                    """,
                options: [
                    Option(
                        "grace", value: "DAYS",
                        summary:
                            "days aside; more than any machine stays away after an upload; objects-grace by default"),
                    .objects, .data, .config,
                ],
                action: { arguments in
                    let status = try collect(arguments, changes: true)
                    try await giveBack(try Administration.dataDirectory(arguments))
                    return status
                }),
        ])
}

private func collect(_ arguments: ParsedArguments, changes: Bool) throws -> ExitStatus {
    let configuration = try ConfigurationReader(arguments).configuration()
    let days =
        try arguments.integer("grace", in: ServerConfiguration.objectsGraceRange) ?? configuration.objectsGraceDays
    let layout = DataLayout(path: try Administration.dataDirectory(arguments))
    let collection = ObjectCollection(
        layout: layout, now: WallClock.microseconds(), grace: ObjectCollection.microseconds(days: days),
        keepsAttachments: configuration.objects == nil)
    let report = try collection.run(changes: changes)
    let console = Console()
    if let bucket = configuration.objects {
        console.note(
            """
            ferry-server: attachments are kept in \(bucket), where nothing is looked at or taken away; this is what the server \
            itself keeps. To get space back there, name an empty bucket as objects: the machines offer it all that they have, \
            and once they are in step the other one can go.
            """)
    }
    console.print("needed: \(report.needed.objects) objects, \(report.needed.bytes) bytes")
    console.print("unused: \(report.unused.objects) objects, \(report.unused.bytes) bytes")
    console.print(
        "\(changes ? "removed" : "to remove"): \(report.removed.objects) objects, \(report.removed.bytes) bytes")
    if report.expiredUploads > 0 { console.print("multipart uploads given up: \(report.expiredUploads)") }
    for problem in report.problems { console.note("ferry-server: \(problem)") }
    return report.problems.isEmpty ? .success : .failure
}

/// Space within segments is given back by the store: the one of a running server, or else here.
private func giveBack(_ path: String) async throws {
    guard FileSystem.exists("\(path)/\(DataLayout.index)") else { return }
    if let server = DataDirectory.server(of: path) {
        kill(server, SIGHUP)
        return
    }
    let directory = try DataDirectory(path: path)
    let store = try BucketStore(directory: directory.objects)
    do {
        try await store.discardReleased()
    } catch {
        await store.close()
        throw error
    }
    await store.close()
}
