import DocumentModel
import Testing

@testable import DocumentStore

struct LockTableTests {
    private let old = TransactionID(bytes: [1])
    private let young = TransactionID(bytes: [2])
    private let name: DocumentName
    private var table = LockTable(limits: LockTable.Limits(idle: .seconds(60), total: .seconds(270)))

    init() throws {
        name = try DocumentName(database: DatabaseName(project: "test"), path: "a/1")
        try table.begin(old, age: 1, at: .zero)
        try table.begin(young, age: 2, at: .zero)
    }

    private var change: [(name: DocumentName, before: Document?, after: Document?)] { [(name, nil, nil)] }

    @Test mutating func `a commit without a transaction waits for any that read its document`() throws {
        try table.lock(young, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(nil, changing: change, at: .seconds(2)) == .wait(until: .seconds(61)))
        table.end(young)
        #expect(table.admit(nil, changing: change, at: .seconds(2)) == .go)
    }

    @Test mutating func `an older committer aborts the younger reader, which is told so once it asks`() throws {
        try table.lock(young, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(old, changing: change, at: .seconds(2)) == .go)
        #expect(throws: DocumentStoreError.contention) { try table.check(young, at: .seconds(2)) }
    }

    @Test mutating func `a younger committer waits for the older reader`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(young, changing: change, at: .seconds(2)) == .wait(until: .seconds(61)))
        try table.check(old, at: .seconds(2))
    }

    @Test mutating func `one's own locks are not in one's way`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(old, changing: change, at: .seconds(2)) == .go)
    }

    @Test mutating func `idle and long transactions are over`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(nil, changing: change, at: .seconds(62)) == .go)
        #expect(throws: DocumentStoreError.transactionOver) { try table.check(old, at: .seconds(62)) }
        for time in stride(from: 10, through: 270, by: 50) {
            try table.lock(young, documents: [], queries: [], at: .seconds(time))
        }
        #expect(throws: DocumentStoreError.transactionOver) { try table.check(young, at: .seconds(271)) }
    }

    @Test mutating func `abandoned transactions make room for others, and too many open ones are refused`() throws {
        var limits = LockTable.Limits(idle: .seconds(60), total: .seconds(270))
        limits.open = 3000
        table = LockTable(limits: limits)
        for number in 0..<3000 {
            try table.begin(TransactionID(bytes: Array("\(number)".utf8)), age: UInt64(number), at: .seconds(1))
        }
        #expect(throws: DocumentStoreError.tooManyTransactions) { try table.begin(old, age: 5000, at: .seconds(2)) }
        try table.lock(TransactionID(bytes: Array("7".utf8)), documents: [name], queries: [], at: .seconds(60))
        try table.begin(young, age: 5001, at: .seconds(100))
        #expect(table.openCount == 2)
        #expect(table.admit(nil, changing: change, at: .seconds(101)) == .wait(until: .seconds(120)))
    }
}
