import DocumentModel
import Testing

@testable import DocumentStore

struct LockTableTests {
    private let old = TransactionID(bytes: [1], account: nil)
    private let young = TransactionID(bytes: [2], account: nil)
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
        #expect(
            table.admit(nil, of: nil, changing: change, at: .seconds(2)) == .wait(until: .seconds(61), for: [young]))
        table.end(young)
        #expect(table.admit(nil, of: nil, changing: change, at: .seconds(2)) == .go(aborted: []))
    }

    @Test mutating func `an older committer aborts the younger reader, which gets the error at its next call`() throws {
        try table.lock(young, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(old, of: nil, changing: change, at: .seconds(2)) == .go(aborted: [young]))
        #expect(throws: DocumentStoreError.contention) { try table.check(young, at: .seconds(2)) }
    }

    @Test mutating func `a younger committer waits for the older reader`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(
            table.admit(young, of: nil, changing: change, at: .seconds(2)) == .wait(until: .seconds(61), for: [old]))
        try table.check(old, at: .seconds(2))
    }

    @Test mutating func `one's own locks are not in one's way`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(old, of: nil, changing: change, at: .seconds(2)) == .go(aborted: []))
    }

    @Test mutating func `idle and long transactions are over`() throws {
        try table.lock(old, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(nil, of: nil, changing: change, at: .seconds(62)) == .go(aborted: []))
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
        func id(_ number: Int) -> TransactionID { TransactionID(bytes: Array("\(number)".utf8), account: nil) }
        for number in 0..<3000 { try table.begin(id(number), age: UInt64(number), at: .seconds(1)) }
        #expect(throws: DocumentStoreError.tooManyTransactions) { try table.begin(old, age: 5000, at: .seconds(2)) }
        try table.lock(id(7), documents: [name], queries: [], at: .seconds(60))
        try table.begin(young, age: 5001, at: .seconds(100))
        #expect(table.openCount == 2)
        #expect(
            table.admit(nil, of: nil, changing: change, at: .seconds(101)) == .wait(until: .seconds(120), for: [id(7)]))
        table.expire(at: .seconds(400))
        #expect(table.openCount == 0)
    }

    @Test mutating func `aborted transactions make room for others where all are open`() throws {
        var limits = LockTable.Limits()
        limits.open = 100
        table = LockTable(limits: limits)
        func id(_ number: Int) -> TransactionID { TransactionID(bytes: Array("\(number)".utf8), account: nil) }
        for number in 0..<100 {
            try table.begin(id(number), age: UInt64(number), at: .zero)
            if number > 0 { try table.lock(id(number), documents: [name], queries: [], at: .zero) }
        }
        #expect(table.admit(nil, of: "bob", changing: change, at: .zero) == .go(aborted: Set((1..<100).map(id))))
        try table.begin(young, age: 5001, at: .zero)
        #expect(table.openCount == 2 && table.isOpen(id(0)))
    }

    @Test mutating func `an account's own abandoned transactions make room for its next one`() throws {
        func id(_ number: Int) -> TransactionID { TransactionID(bytes: Array("\(number)".utf8), account: "bob") }
        let limit = AccountLimits().transactions
        for number in 0..<limit { try table.begin(id(number), age: UInt64(number + 10), at: .zero) }
        #expect(throws: DocumentStoreError.self) { try table.begin(id(limit), age: 5000, at: .seconds(60)) }
        try table.begin(id(limit), age: 5000, at: .seconds(61))
        // The transactions of the operator have ended too, though none of them was requested.
        #expect(table.openCount == 3)
    }

    @Test mutating func `a commit aborts another account's transactions, older or not`() throws {
        let other = TransactionID(bytes: [3], account: "bob")
        try table.begin(other, age: 0, at: .zero)
        try table.lock(other, documents: [name], queries: [], at: .seconds(1))
        #expect(table.admit(nil, of: "alice", changing: change, at: .seconds(2)) == .go(aborted: [other]))
        #expect(throws: DocumentStoreError.contention) { try table.check(other, at: .seconds(2)) }
        try table.lock(young, documents: [name], queries: [], at: .seconds(3))
        #expect(table.admit(other, of: "bob", changing: change, at: .seconds(3)) == .go(aborted: [young]))
    }
}
