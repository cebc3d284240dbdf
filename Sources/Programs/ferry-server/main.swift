import FerryServer
import Glibc

exit(await FerryServerTool.run(Array(CommandLine.arguments.dropFirst())))
