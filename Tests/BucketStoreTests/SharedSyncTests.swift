import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

@Suite struct SharedSyncTests {
    @Test func `concurrent calls each get an answer, and the right one`() async throws {
        let scratch = try TemporaryDirectory()
        let path = "\(scratch.path)/files"
        let directory = FileDirectory(path: path)
        func answers() async -> [Bool] {
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<64 { group.addTask { (try? directory.synchronize()) != nil } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        // The directory does not exist, so no names in it can be on the disk.
        #expect(await answers() == [Bool](repeating: false, count: 64))
        try FileSystem.makeDirectories(path, mode: 0o700)
        #expect(await answers() == [Bool](repeating: true, count: 64))
    }
}
