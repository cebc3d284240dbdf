import CommandLineTool

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
            let summary = try DataCopy(source: DataLayout(path: source), target: DataLayout(path: target)).run()
            Console().print(
                "copied \(summary.databases) databases and \(summary.objects) objects of \(summary.bytes) bytes to \(target)"
            )
            return .success
        })

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
            let copy = DataCopy(
                source: DataLayout(path: arguments.argument("DIR") ?? ""), target: DataLayout(path: target))
            let summary = try copy.run()
            Console().print(
                "restored \(summary.databases) databases and \(summary.objects) objects of \(summary.bytes) bytes to \(target)"
            )
            return .success
        })

    static let check: Command = Command(
        "check", summary: "looks for damage, also while the server runs",
        discussion: """
            Reads every database and compares the documents with their indexes and with the log of changes, and the objects with
            what is known of them.

                ferry-server check --objects --data /srv/ferry
            """,
        group: "Care",
        options: [
            Option("objects", summary: "read every object, too, and compare it with what was put there"), .data,
            .config,
        ],
        action: { arguments in
            let path = try Administration.dataDirectory(arguments)
            let problems = try DataCheck(layout: DataLayout(path: path), readsObjects: arguments.has("objects"))
                .problems()
            for problem in problems { Console().print(problem) }
            guard problems.isEmpty else {
                throw ServerError(
                    .damaged,
                    problems.allSatisfy { $0.hasPrefix("objects/") }
                        ? "Objects in \(path) are damaged. A machine that has such an attachment puts it there again when "
                            + "another asks for it; nothing else is lost, and a backup from before has all of them."
                        : "The data in \(path) is damaged. Stop the server and restore a backup.")
            }
            Console().print("\(path) is sound")
            return .success
        })
}
