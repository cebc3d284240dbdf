import SystemIO
import SystemTestKit
import Testing

@testable import SQLite

struct IdleCheckpointTests {
    private func state(_ size: Int64, _ seconds: Int64) -> IdleCheckpoint.LogState {
        IdleCheckpoint.LogState(size: size, modified: FileTime(seconds: seconds, nanoseconds: 0))
    }

    @Test func `a log is moved once, when nothing has been written to it between two looks`() {
        var checkpoint = IdleCheckpoint()
        func look(_ path: String, _ state: IdleCheckpoint.LogState?) -> Bool { checkpoint.isDue(path, state) }
        let first = [look("a", state(10, 1)), look("a", state(20, 2)), look("b", state(20, 2))]
        #expect(first == [false, false, false])
        // It is tried again where it failed.
        let due = [look("a", state(20, 2)), look("a", state(20, 2))]
        #expect(due == [true, true])
        checkpoint.moved("a", state(20, 2))
        let later = [look("a", state(20, 2)), look("a", state(20, 3)), look("a", state(20, 3))]
        #expect(later == [false, false, true])
        let empty = [look("c", state(0, 1)), look("c", state(0, 1)), look("d", nil), look("d", nil)]
        #expect(empty == [false, false, false, false])
    }

    @Test func `an idle database is whole without its log`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("accounts.sqlite")
        let database = try SQLiteDatabase(path: path)
        try database.executeScript("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
        var checkpoint = IdleCheckpoint()
        try checkpoint.run(on: [path])
        try checkpoint.run(on: [path])
        try FileSystem.replace(directory.file("copy"), with: FileSystem.read(path))
        let copy = try SQLiteDatabase(path: directory.file("copy"))
        #expect(try copy.first("SELECT a FROM t") { $0.int(0) } == 1)
        copy.close()
        database.close()
    }
}
