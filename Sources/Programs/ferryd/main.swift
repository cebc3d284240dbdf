import FerryDaemon
import Glibc

exit(await DaemonTool.run(Array(CommandLine.arguments.dropFirst())))
