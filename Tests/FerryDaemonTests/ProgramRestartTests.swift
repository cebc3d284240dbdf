import SystemIO
import SystemTestKit
import Testing

@testable import FerryDaemon

@Suite struct ProgramRestartTests {
    @Test func `the program is replaced once its new file stays the same`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/ferryd"
        try FileSystem.replace(path, with: [1], mode: 0o755)
        let restart = ProgramRestart(path: path)
        #expect(!restart.isReplaced() && !restart.isReplaced())
        try FileSystem.replace(path, with: [1, 2], mode: 0o755)
        #expect(!restart.isReplaced(), "it may not be written completely")
        try FileSystem.replace(path, with: [1, 2, 3], mode: 0o755)
        #expect(!restart.isReplaced() && restart.isReplaced())
        try FileSystem.replace(path, with: [1, 2, 3, 4], mode: 0o644)
        #expect(!restart.isReplaced() && !restart.isReplaced(), "it cannot be run")
    }
}
