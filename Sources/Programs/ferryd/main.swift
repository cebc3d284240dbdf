import CommandLineTool
import FerryDaemon

runProgram { await DaemonTool.run($0) }
