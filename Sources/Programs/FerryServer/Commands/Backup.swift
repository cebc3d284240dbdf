import CommandLineTool
import SystemIO

extension Command {
    static let backup: Command = Command(
        "backup", summary: "copies all data to a new directory, also while the server runs",
        discussion: """
            The copy is of one moment for each database, checked, and complete when the directory appears.

                ferry-server backup /backup/ferry-2026-11-21
            """,
        group: "Care",
        arguments: [Argument("DIR", summary: "the directory to make", completion: .directories)],
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
                "\(target) has everything, but \(problems.count) things were damaged already where it comes from. Take them from "
                    + "an older backup, and keep that.")
        }
    }

    static let restore: Command = Command(
        "restore", summary: "makes a data directory from a backup",
        discussion: """
            The data directory must not be there yet, or be empty. Clients notice and read everything anew.

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
        "check", summary: "looks for damage, also while the server runs",
        discussion: """
            Reads every database and compares the documents with their checksums, their indexes and the log of changes, and the
            objects with what is known of them; looks whether all files are there, whether the signing keys work, and whether the
            attachments that documents refer to are there.

                ferry-server check --objects --data /srv/ferry
            """,
        group: "Care",
        options: [
            Option("objects", summary: "read every object, too, and compare it with what was put there"), .data,
            .config,
        ],
        action: { arguments in
            let path = try Administration.dataDirectory(arguments)
            var check = DataCheck(layout: DataLayout(path: path), readsObjects: arguments.has("objects"))
            check.keepsAttachments = try ConfigurationReader(arguments).configuration().objects == nil
            let problems = try check.problems()
            for problem in problems { Console().print("\(problem)") }
            guard problems.isEmpty else {
                throw ServerError(
                    .damaged,
                    problems.allSatisfy { $0.isContained && $0.description.hasPrefix("objects/") }
                        ? "Objects in \(path) are damaged. A machine that has such an attachment puts it there again when "
                            + "another asks for it; nothing else is lost, and a backup from before has all of them."
                        : problems.allSatisfy(\.isContained)
                            ? "Some documents in \(path) are damaged; the server goes on with all others. Restore a backup, or take "
                                + "these from one."
                            : "The data in \(path) is damaged. Stop the server and restore a backup.")
            }
            Console().print("\(path) is sound")
            return .success
        })
}
