import DocumentModel
import Testing

@testable import DocumentStore

@Suite struct ProposedCommitTests {
    /// A commit may write hundreds of entries of one task's history, and the rules ask for the task each time.
    @Test func `a document that is asked for again and again is read once`() throws {
        let database = DatabaseName(project: "test")
        let task = try DocumentName(database: database, path: "tasks/a")
        let other = try DocumentName(database: database, path: "tasks/b")
        var reads: [DocumentName] = []
        let time = Timestamp(microseconds: 1)
        let found = Document(name: task, fields: ["n": .integer(1)], createTime: time, updateTime: time)
        let commit = ProposedCommit(
            changes: [], time: time,
            stored: { name in
                reads.append(name)
                return name == task ? found : nil
            }, count: { _ in 0 })
        for _ in 0..<3 {
            #expect(try commit.get(task)?.fields == found.fields)
            #expect(try commit.getAfter(task)?.fields == found.fields)
        }
        #expect(reads == [task])
        #expect(try commit.get(other) == nil && commit.get(task) != nil)
        #expect(reads == [task, other, task])
    }
}
