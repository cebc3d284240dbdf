import SystemIO
import SystemTestKit
import Testing

@testable import ServerData

struct DataDirectoryTests {
    @Test func `a directory serves one server at a time`() throws {
        let parent = try TemporaryDirectory()
        let path = "\(parent.path)/deep/er"
        do {
            let first = try DataDirectory(path: path)
            #expect(try FileSystem.status(first.path).mode == 0o700)
            #expect(DataDirectory.server(of: path) != nil)
            let error = #expect(throws: ServerError.self) { _ = try DataDirectory(path: path) }
            #expect(error?.code == .inUse && error?.message.contains(path) == true)
        }
        #expect(DataDirectory.server(of: path) == nil)
        _ = try DataDirectory(path: path)
    }
}
