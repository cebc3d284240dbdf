import SQLite
import SystemIO
import SystemTestKit
import Testing

struct SQLiteActorTests {
    @Test func `closures from many tasks run one after the other`() async throws {
        let directory = try TemporaryDirectory()
        let database = try SQLiteActor(path: directory.file("a.db")) { try $0.executeScript("CREATE TABLE t(v)") }
        try await withThrowingTaskGroup { group in
            for _ in 1...20 {
                group.addTask {
                    try await database.transaction { database in
                        let count = try database.first("SELECT count(*) FROM t") { $0.int(0) } ?? 0
                        try database.execute("INSERT INTO t VALUES(?)", [.int(count)])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.run { try $0.first("SELECT count(DISTINCT v) FROM t") { $0.int(0) } } == 20)
    }

    @Test func `a thread runs all its jobs before it stops`() async throws {
        let thread = SerialThread()
        let first = try await thread.run { 1 }
        async let second = thread.run { 2 }
        let sum = try await first + second
        thread.stop()
        #expect(sum == 3)
    }
}
