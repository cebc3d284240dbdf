import CommandLineTool
import FerryServer

runProgram { await FerryServerTool.run($0) }
