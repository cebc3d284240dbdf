import CommandLineTool
import ServerData
import SystemIO

extension Command {
    static let backup: Command = Command(
        "backup", summary: "copies all data to a new directory, even while the server runs",
        discussion: """
            Each database is copied as of one point in time. When the directory appears, the copy is complete and
            checked.

                ferry-server backup /backup/ferry-2026-11-21
            """,
        group: "Care",
        arguments: [Argument("DIR", summary: "the directory to create", completion: .directories)],
        options: [.data, .config],
        action: { arguments in
            let source = try Administration.dataDirectory(arguments)
            let target = arguments.argument("DIR") ?? ""
            var copy = DataCopy(source: DataLayout(path: source), target: DataLayout(path: target))
            copy.keepsAttachments = try ConfigurationReader(arguments).configuration().objects == nil
            let summary = try copy.run()
            Console().print(
                "copied \(summary.databases) databases and \(summary.objects) objects of \(summary.bytes) bytes to \(target)"
            )
            try report(summary.problems, in: target)
            return .success
        })

    /// Reports the damaged parts of a copy that is otherwise complete, and throws if there are any.
    private static func report(_ problems: [DataProblem], in target: String) throws {
        for problem in problems { Console().note("\(problem)") }
        guard problems.isEmpty else {
            throw ServerError(
                .damaged,
                "The copy \(target) is complete, but \(problems.count) items were already damaged in the source. Restore them from "
                    + "an older backup, and keep that backup.")
        }
    }

    static let restore: Command = Command(
        "restore", summary: "creates a data directory from a backup",
        discussion: """
            The data directory must not exist, or must be empty. Clients notice and read everything again.

                ferry-server restore /backup/ferry-2026-11-21 --data /srv/ferry
            """,
        group: "Care",
        arguments: [Argument("DIR", summary: "the backup", completion: .directories)],
        options: [.data, .config],
        action: { arguments in
            let target = try ConfigurationReader(arguments).dataDirectory()
            var copy = DataCopy(
                source: DataLayout(path: arguments.argument("DIR") ?? ""), target: DataLayout(path: target))
            copy.keepsAttachments = try ConfigurationReader(arguments).configuration().objects == nil
            let summary = try copy.run()
            Console().print(
                "restored \(summary.databases) databases and \(summary.objects) objects of \(summary.bytes) bytes to \(target)"
            )
            try report(summary.problems, in: target)
            return .success
        })

    static let check: Command = Command(
        "check", summary: "checks the data for damage, even while the server runs",
        discussion: """
            Reads every database and compares the documents with their checksums, their indexes and the log of changes,
            and the objects with their recorded sizes. Checks that all files exist, that the signing keys work, and that
            the attachments that documents refer to exist.

                ferry-server check --objects --data /srv/ferry
            """,
        group: "Care",
        options: [
            Option("objects", summary: "read every object too, and compare it with its checksum"), .project,
        ] + Option.place,
        action: { arguments in
            let reader = try ConfigurationReader(arguments)
            if let server = try reader.database() {
                let project = try reader.configuration(administering: "").project
                try await DatabaseCheck(project: project, server.connection()).run { Console().print($0) }
                Console().print("the database is undamaged")
                return .success
            }
            let path = try Administration.dataDirectory(arguments)
            var check = DataCheck(layout: DataLayout(path: path), readsObjects: arguments.has("objects"))
            check.keepsAttachments = try reader.configuration().objects == nil
            let problems = try check.problems()
            for problem in problems { Console().print("\(problem)") }
            guard problems.isEmpty else {
                throw ServerError(
                    .damaged,
                    problems.allSatisfy { $0.isContained && $0.description.hasPrefix("objects/") }
                        ? "Objects in \(path) are damaged. A machine that has such an attachment uploads it again when "
                            + "another machine asks for it; nothing else is lost, and an earlier backup has all of them."
                        : problems.allSatisfy(\.isContained)
                            ? "Some documents in \(path) are damaged; the server works with all others. Restore a backup, or import "
                                + "these documents from one."
                            : "The data in \(path) is damaged. Stop the server and restore a backup.")
            }
            Console().print("\(path) is undamaged")
            return .success
        })
}
