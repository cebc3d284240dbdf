import DocumentModel
import FirestoreProtocol
import Testing

@testable import DocumentStore

struct TargetIndexTests {
    private let database = DatabaseName(project: "test")

    private func change(_ path: String, before: String?, after: String?) throws -> CommitRecord.Change {
        let name = try DocumentName(database: database, path: path)
        let time = Timestamp(microseconds: 1)
        func document(_ user: String) -> Document {
            Document(name: name, fields: ["userId": .string(user)], createTime: time, updateTime: time)
        }
        return CommitRecord.Change(
            name: name, before: before.map(document), after: after.map(document), encoded: nil)
    }

    private func plan(_ collection: String, user: String? = nil, group: Bool = false) throws -> QueryPlan {
        let filter = user.map { Query.Filter.field(FieldPath(key: "userId"), .equal, .string($0)) }
        return try QueryPlan(
            Query(parent: ParentName(database), collectionID: collection, allDescendants: group, filter: filter))
    }

    private func key(_ target: Int32) -> TargetIndex.Key { TargetIndex.Key(stream: 1, target: target) }

    @Test func `a change touches its user's target out of ten thousand`() throws {
        var index = TargetIndex()
        for number in 0..<10_000 as Range<Int32> {
            index.insert(key(number), plan: try plan("tasks", user: "u\(number)"))
        }
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "u77")) == [key(77)])
        #expect(index.candidates(for: try change("tasks/1", before: "u5", after: "u77")) == [key(5), key(77)])
        #expect(index.candidates(for: try change("lists/1", before: nil, after: "u77")) == [])
    }

    @Test func `queries about ten thousand different fields concern no change that lacks them`() throws {
        var index = TargetIndex()
        let user = Query.Filter.field(FieldPath(key: "userId"), .equal, .string("mallory"))
        for number in 0..<10_000 as Range<Int32> {
            let field = try FieldPath(["attachments", "\(number)"])
            // Documents are indexed by their own field, wherever the filter mentions it.
            let filter = Query.Filter.and([.field(field, .equal, .string("x")), user])
            let query = Query(
                parent: ParentName(database), collectionID: "tasks", allDescendants: number % 2 == 0, filter: filter)
            index.insert(key(number), plan: try QueryPlan(query))
        }
        #expect(index.candidates(for: try change("tasks/1", before: "u5", after: "u77")) == [])
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "mallory")).count == 10_000)
        for number in 0..<10_000 as Range<Int32> { index.remove(key(number)) }
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "mallory")) == [])
    }

    @Test func `a member of an array and a descendant of a document are found`() throws {
        var index = TargetIndex()
        let member = Query.Filter.field(FieldPath(key: "sharedWith"), .arrayContains, .string("bob"))
        index.insert(
            key(1),
            plan: try QueryPlan(Query(parent: ParentName(database), collectionID: "lists", filter: member)))
        let below = ParentName(try DocumentName(database: database, path: "tasks/1"))
        index.insert(key(2), plan: try QueryPlan(Query(parent: below, collectionID: nil, allDescendants: true)))
        index.insert(key(3), plan: try QueryPlan(Query(parent: below, collectionID: "history", allDescendants: true)))
        let name = try DocumentName(database: database, path: "lists/1")
        func list(_ members: [String]) -> Document {
            Document(
                name: name, fields: ["sharedWith": .array(members.map { .string($0) })],
                createTime: Timestamp(microseconds: 1), updateTime: Timestamp(microseconds: 1))
        }
        #expect(index.candidates(for: name, before: list(["alice"]), after: list([])) == [])
        #expect(index.candidates(for: name, before: list(["alice", "bob"]), after: nil) == [key(1)])
        #expect(
            index.candidates(for: try change("tasks/1/a/b/history/2", before: nil, after: "u")) == [key(2), key(3)])
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "u")) == [])
        #expect(index.candidates(for: try change("tasks/2/history/2", before: nil, after: "u")) == [])
    }

    @Test func `groups, whole collections, and documents are found too`() throws {
        var index = TargetIndex()
        index.insert(key(1), plan: try plan("history", group: true))
        index.insert(key(2), plan: try plan("tasks"))
        index.insert(key(3), documents: [try DocumentName(database: database, path: "tasks/1")])
        #expect(index.candidates(for: try change("tasks/1/history/2", before: nil, after: "u")) == [key(1)])
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "u")) == [key(2), key(3)])
        #expect(index.candidates(for: try change("tasks/2", before: "u", after: nil)) == [key(2)])
        for target in 1...3 as ClosedRange<Int32> { index.remove(key(target)) }
        #expect(index.count == 0)
        #expect(index.candidates(for: try change("tasks/1", before: nil, after: "u")) == [])
    }
}
