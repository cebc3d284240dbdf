import FerryCLI
import Glibc

exit(await FerryTool.run(Array(CommandLine.arguments.dropFirst())))
