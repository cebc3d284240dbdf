import CommandLineTool
import DocumentModel
import DocumentStore
import ServerData
import SystemIO

extension Command {
    static let repairClock: Command = Command(
        "repair-clock", summary: "corrects commits that are ahead of the clock, while the server is stopped",
        discussion: """
            If the system's clock was ahead for a time, commits have times in the future, and the times of later commits
            hardly advance. This command sets their times to the past, in their order. Make a backup first. Machines
            then notice an earlier state of the server, and hold their changes until 'ferry rebind' is run on each.

                ferry-server repair-clock --data /srv/ferry
            """,
        group: "Care",
        options: [.data, .project, .config],
        action: { arguments in
            let project = try ConfigurationReader(arguments).configuration().project
            let directory = try DataDirectory(path: try Administration.dataDirectory(arguments))
            let layout = DataLayout(path: directory.path)
            var count = 0
            for name in try layout.databases() where layout.isOfDocuments(name) {
                count += try DocumentDatabaseFile(DatabaseName(project: project), path: "\(layout.path)/\(name)")
                    .repairClock(now: WallClock.microseconds())
            }
            Console().print(
                count == 0 ? "no commit is ahead of the clock" : "changed \(count) times that were ahead of the clock")
            return .success
        })
}
