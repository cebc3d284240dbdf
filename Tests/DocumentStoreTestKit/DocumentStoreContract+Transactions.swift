import DocumentModel
import DocumentStore

extension DocumentStoreContract {
    static let transactions = [
        DocumentStoreContract("a transaction commits what it read and wrote") { test in
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
            let garbage = TransactionID(bytes: [1, 2, 3])
            try await requireRefusal(.invalidArgument, "Invalid transaction.", "a rollback") {
                try await test.store.rollback(garbage)
            }
            try await requireRefusal(.invalidArgument, "Invalid transaction.", "a read") {
                _ = try await test.fields("a/1", at: .transaction(garbage))
            }
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
