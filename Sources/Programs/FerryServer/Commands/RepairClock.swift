import CommandLineTool
import DocumentModel
import DocumentStore
import SystemIO

extension Command {
    static let repairClock: Command = Command(
        "repair-clock", summary: "brings commits back that are ahead of the clock, while the server is stopped",
        discussion: """
            Where the system's clock was ahead once, commits have times in the future, and the times of later ones hardly grow.
            This gives them times before now, in their order. Make a backup before. Machines notice that the server was put
            back, and hold their changes until 'ferry rebind' is run on each.

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
