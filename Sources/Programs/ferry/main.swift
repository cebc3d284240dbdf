import CommandLineTool
import FerryCLI

runProgram { await FerryTool.run($0) }
