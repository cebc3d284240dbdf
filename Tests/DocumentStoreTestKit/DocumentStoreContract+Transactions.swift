import DocumentModel
import DocumentStore

extension DocumentStoreContract {
    static let transactions = [
        DocumentStoreContract("a transaction commits its reads and writes") { test in
            try await test.set("a/1", ["n": .integer(1)])
            let id = try await test.store.beginTransaction(.readWrite(retry: nil))
            let old = try await test.fields("a/1", at: .transaction(id))
            try requireEqual(old, ["n": .integer(1)], "what it read")
            _ = try await test.store.commit(
                [Write(.update(try test.name("a/1"), fields: ["n": .integer(2)]))], transaction: id, guarding: nil)
            try requireEqual(try await test.fields("a/1"), ["n": .integer(2)], "what it wrote")
            try await requireRefusal(.invalidArgument, "expired or is no longer valid", "a second commit") {
                _ = try await test.store.commit([], transaction: id, guarding: nil)
            }
        },
        DocumentStoreContract("a write waits for the transaction that read its document") { test in
            try await test.set("a/1", ["n": .integer(1)])
            let id = try await test.store.beginTransaction(.readWrite(retry: nil))
            _ = try await test.fields("a/1", at: .transaction(id))
            async let other = test.set("a/1", ["n": .integer(5)])
            let committed = try await test.store.commit(
                [
                    Write(
                        .update(try test.name("a/1"), fields: [:]), mask: [],
                        transforms: [FieldTransform(try test.path("n"), .increment(.integer(1)))])
                ], transaction: id, guarding: nil)
            let late = try await other
            let n = try await test.fields("a/1")?["n"]
            try require(
                late > committed.commitTime ? n == .integer(5) : n == .integer(6), "found \(String(describing: n))")
        },
        DocumentStoreContract("of two that read and write the same, the older wins and the younger is aborted") {
            test in
            try await test.set("a/1", ["n": .integer(0)])
            let older = try await test.store.beginTransaction(.readWrite(retry: nil))
            let younger = try await test.store.beginTransaction(.readWrite(retry: nil))
            for id in [older, younger] { _ = try await test.fields("a/1", at: .transaction(id)) }
            let write = Write(.update(try test.name("a/1"), fields: ["n": .integer(1)]))
            _ = try await test.store.commit([write], transaction: older, guarding: nil)
            try await requireRefusal(.aborted, "contention", "the younger's commit") {
                _ = try await test.store.commit([write], transaction: younger, guarding: nil)
            }
            let retry = try await test.store.beginTransaction(.readWrite(retry: younger))
            try requireEqual(try await test.fields("a/1", at: .transaction(retry)), ["n": .integer(1)], "the retry")
            try await test.store.rollback(retry)
        },
        // Google's client for Python keeps the id to retry in the decorated function, which threads share.
        DocumentStoreContract("an aborted transaction that another one retries is still reported as aborted") { test in
            try await test.set("a/1", ["n": .integer(0)])
            let older = try await test.store.beginTransaction(.readWrite(retry: nil))
            let younger = try await test.store.beginTransaction(.readWrite(retry: nil))
            for id in [older, younger] { _ = try await test.fields("a/1", at: .transaction(id)) }
            let write = Write(.update(try test.name("a/1"), fields: ["n": .integer(1)]))
            _ = try await test.store.commit([write], transaction: older, guarding: nil)
            let retry = try await test.store.beginTransaction(.readWrite(retry: younger))
            try await requireRefusal(.aborted, "contention", "the younger's commit") {
                _ = try await test.store.commit([write], transaction: younger, guarding: nil)
            }
            try await test.store.rollback(retry)
        },
        DocumentStoreContract("a query in a transaction keeps phantoms out") { test in
            try await test.set("a/1", ["u": .string("x")])
            let id = try await test.store.beginTransaction(.readWrite(retry: nil))
            let mine = test.query("a", .field(try test.path("u"), .equal, .string("x")))
            try requireEqual(try await test.paths(mine, at: .transaction(id)), ["a/1"], "the query")
            try await test.set("a/2", ["u": .string("y")])
            async let phantom = test.set("a/3", ["u": .string("x")])
            let committed = try await test.store.commit(
                [Write(.update(try test.name("b/1"), fields: [:]))], transaction: id, guarding: nil)
            try require(try await phantom > committed.commitTime, "the phantom came before the commit")
        },
        DocumentStoreContract("a read-only transaction sees one moment and writes nothing") { test in
            try await test.set("a/1", ["n": .integer(1)])
            let id = try await test.store.beginTransaction(.readOnly(at: nil))
            try await test.set("a/1", ["n": .integer(2)])
            try requireEqual(try await test.fields("a/1", at: .transaction(id)), ["n": .integer(1)], "the old moment")
            try requireEqual(try await test.paths(test.query("a"), at: .transaction(id)), ["a/1"], "the old query")
            _ = try await test.store.commit([], transaction: id, guarding: nil)
            let second = try await test.store.beginTransaction(.readOnly(at: nil))
            try await requireRefusal(.invalidArgument, "read-only transaction", "a write in it") {
                _ = try await test.store.commit(
                    [Write(.delete(try test.name("a/1")))], transaction: second, guarding: nil)
            }
        },
        DocumentStoreContract("ids that no store made are invalid") { test in
            let garbage = TransactionID(bytes: [1, 2, 3], account: nil)
            try await requireRefusal(.invalidArgument, "Invalid transaction.", "a rollback") {
                try await test.store.rollback(garbage)
            }
            try await requireRefusal(.invalidArgument, "Invalid transaction.", "a read") {
                _ = try await test.fields("a/1", at: .transaction(garbage))
            }
        },
        DocumentStoreContract("an account uses its own transactions only") { test in
            try await test.set("a/1", ["n": .integer(1)])
            for options in [TransactionOptions.readWrite(retry: nil), .readOnly(at: nil)] {
                let mine = try await test.store.beginTransaction(options, for: "alice")
                var forged = mine.bytes
                forged[forged.count - 1] ^= 1
                var aged = mine.bytes
                aged[3] ^= 1
                for (bytes, account) in [(mine.bytes, "bob"), (mine.bytes, nil), (forged, "alice"), (aged, "alice")] {
                    let id = TransactionID(bytes: bytes, account: account)
                    try await requireRefusal(.invalidArgument, "Invalid transaction.", "a read") {
                        _ = try await test.fields("a/1", at: .transaction(id))
                    }
                    try await requireRefusal(.invalidArgument, "Invalid transaction.", "a query") {
                        _ = try await test.paths(test.query("a"), at: .transaction(id))
                    }
                    try await requireRefusal(.invalidArgument, "Invalid transaction.", "a commit") {
                        _ = try await test.store.commit([], transaction: id, guarding: nil)
                    }
                    try await requireRefusal(.invalidArgument, "Invalid transaction.", "a rollback") {
                        try await test.store.rollback(id)
                    }
                    try await requireRefusal(.invalidArgument, "Invalid transaction.", "its read time") {
                        _ = try await test.store.readTime(of: id)
                    }
                }
                // The transaction is open nevertheless.
                try requireEqual(try await test.fields("a/1", at: .transaction(mine)), ["n": .integer(1)], "its read")
                try await test.store.rollback(mine)
            }
        },
        DocumentStoreContract("an id of another account gives a retry no priority") { test in
            try await test.set("a/1", ["n": .integer(0)])
            let foreign = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            let older = try await test.store.beginTransaction(.readWrite(retry: nil), for: "alice")
            for bytes in [foreign.bytes, [1, 2, 3]] {
                let retry = TransactionID(bytes: bytes, account: "alice")
                let younger = try await test.store.beginTransaction(.readWrite(retry: retry), for: "alice")
                _ = try await test.fields("a/1", at: .transaction(younger))
                let write = Write(.update(try test.name("a/1"), fields: ["n": .integer(1)]))
                if bytes.count == 3 {
                    _ = try await test.store.commit(
                        [write], transaction: older, guarding: CommitGuard(account: "alice"))
                    try await requireRefusal(.aborted, "contention", "the younger's read") {
                        _ = try await test.fields("a/1", at: .transaction(younger))
                    }
                } else {
                    try await test.store.rollback(younger)
                }
            }
        },
        DocumentStoreContract("no commit waits for the transaction of another account, which is aborted") { test in
            try await test.set("a/1", ["u": .string("x")])
            let reader = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            _ = try await test.fields("a/1", at: .transaction(reader))
            _ = try await test.fields("a/none", at: .transaction(reader))
            let write = Write(.update(try test.name("a/none"), fields: ["u": .string("x")]))
            _ = try await test.store.commit([write], transaction: nil, guarding: CommitGuard(account: "alice"))
            try await requireRefusal(.aborted, "contention", "the reader's commit") {
                _ = try await test.store.commit([write], transaction: reader, guarding: CommitGuard(account: "bob"))
            }
            // The same with a query.
            let other = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            let query = test.query("a", .field(try test.path("u"), .equal, .string("y")))
            _ = try await test.paths(query, at: .transaction(other))
            try await test.set("a/2", ["u": .string("z")])
            _ = try await test.fields("a/1", at: .transaction(other))
            let change = Write(.update(try test.name("a/2"), fields: ["u": .string("y")]))
            _ = try await test.store.commit([change], transaction: nil, guarding: CommitGuard(account: "alice"))
            try await requireRefusal(.aborted, "contention", "a read after the phantom") {
                _ = try await test.fields("a/1", at: .transaction(other))
            }
        },
        DocumentStoreContract("queries of every kind keep phantoms out") { test in
            try await test.set("a/1/b/1", ["tags": .array([.string("x")]), "m": .map(["k": .integer(1)])])
            let below = ParentName(try test.name("a/1"))
            let queries = [
                test.query("b", group: true), Query(parent: below, collectionID: "b"),
                Query(parent: below, collectionID: nil, allDescendants: true),
                Query(parent: below, collectionID: "b", allDescendants: true),
                Query(parent: ParentName(test.store.database), collectionID: nil, allDescendants: true),
                test.query("b", .field(try test.path("tags"), .arrayContains, .string("y")), group: true),
                test.query("b", .field(try test.path("m.k"), .equal, .integer(2)), group: true),
                test.query("b", .field(try test.path("m.k"), .in, .array([.integer(2), .integer(3)])), group: true),
            ]
            for (number, query) in queries.enumerated() {
                let id = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
                _ = try await test.paths(query, at: .transaction(id))
                let phantom = Write(
                    .update(
                        try test.name("a/1/b/new\(number)"),
                        fields: ["tags": .array([.string("y")]), "m": .map(["k": .integer(2)])]))
                _ = try await test.store.commit([phantom], transaction: nil, guarding: CommitGuard(account: "alice"))
                try await requireRefusal(.aborted, "contention", "the commit after query \(number)") {
                    _ = try await test.store.commit([], transaction: id, guarding: CommitGuard(account: "bob"))
                }
            }
        },
        DocumentStoreContract("the transactions of an account are limited, and other accounts continue") { test in
            let limit = AccountLimits().transactions
            var open: [TransactionID] = []
            for number in 0..<limit {
                let options: TransactionOptions = number % 2 == 0 ? .readWrite(retry: nil) : .readOnly(at: nil)
                open.append(try await test.store.beginTransaction(options, for: "bob"))
            }
            for options in [TransactionOptions.readWrite(retry: nil), .readOnly(at: nil)] {
                try await requireRefusal(.resourceExhausted, "\(limit) open transactions", "one more") {
                    _ = try await test.store.beginTransaction(options, for: "bob")
                }
            }
            _ = try await test.store.beginTransaction(.readWrite(retry: nil), for: "alice")
            _ = try await test.store.beginTransaction(.readWrite(retry: nil))
            try await test.store.rollback(open[0])
            _ = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
        },
        DocumentStoreContract("the documents, queries and bytes that a transaction reads are limited") { test in
            let limits = AccountLimits()
            let id = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            let names = try (0..<limits.transactionDocuments).map { try test.name("a/\($0)") }
            _ = try await test.store.get(names, at: .transaction(id))
            // Reading the same documents again adds no locks.
            _ = try await test.store.get(names, at: .transaction(id))
            try await requireRefusal(.resourceExhausted, "\(limits.transactionDocuments) documents", "one more") {
                _ = try await test.fields("a/more", at: .transaction(id))
            }
            for number in 0..<limits.transactionQueries {
                let filter = Query.Filter.field(try test.path("n"), .equal, .integer(Int64(number)))
                for _ in 0..<2 { _ = try await test.paths(test.query("empty", filter), at: .transaction(id)) }
            }
            try await requireRefusal(.resourceExhausted, "\(limits.transactionQueries) queries", "one more") {
                _ = try await test.paths(test.query("empty"), at: .transaction(id))
            }
            let other = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            try await requireRefusal(.resourceExhausted, "\(limits.transactionBytes) bytes", "large queries") {
                for number in 0..<20 {
                    let text = Value.string("\(number)" + String(repeating: "x", count: 900_000))
                    let filter = Query.Filter.field(try test.path("n"), .equal, text)
                    _ = try await test.paths(test.query("empty", filter), at: .transaction(other))
                }
            }
            // A rollback releases its locks, and other accounts are not affected.
            try await test.store.rollback(id)
            try await test.store.rollback(other)
            let next = try await test.store.beginTransaction(.readWrite(retry: nil), for: "bob")
            _ = try await test.store.get(names, at: .transaction(next))
        },
        DocumentStoreContract("concurrent increments in transactions are all counted") { test in
            try await test.set("a/1", ["n": .integer(0)])
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        var retry: TransactionID?
                        while true {
                            let id = try await test.store.beginTransaction(.readWrite(retry: retry))
                            retry = id
                            do {
                                let n = try await test.fields("a/1", at: .transaction(id))?["n"]?.integerValue ?? 0
                                _ = try await test.store.commit(
                                    [Write(.update(try test.name("a/1"), fields: ["n": .integer(n + 1)]))],
                                    transaction: id, guarding: nil)
                                return
                            } catch let error as DocumentStoreError where error.code == .aborted {}
                        }
                    }
                }
                try await group.waitForAll()
            }
            try requireEqual(try await test.fields("a/1"), ["n": .integer(8)], "the count")
        },
    ]
}
