import DocumentModel
import DocumentStore
import FirestoreProtocol

extension DocumentStoreContract {
    static let querying = [
        DocumentStoreContract("a collection is its direct documents in order of their names") { test in
            for path in ["a/2", "a/1", "a/10", "ab/1", "a/1/a/3"] { try await test.set(path, [:]) }
            try requireEqual(try await test.paths(test.query("a")), ["a/1", "a/10", "a/2"], "the collection")
            try requireEqual(
                try await test.paths(test.query("a", group: true)), ["a/1", "a/1/a/3", "a/10", "a/2"], "the group")
            let everything = Query(parent: ParentName(test.store.database), collectionID: nil, allDescendants: true)
            try requireEqual(
                try await test.paths(everything), ["a/1", "a/1/a/3", "a/10", "a/2", "ab/1"], "everything")
        },
        DocumentStoreContract("equality and order, limit and offset, from either end") { test in
            for index in 0..<30 {
                try await test.set("a/\(index)", ["u": .string("u\(index % 3)"), "n": .integer(Int64(30 - index))])
            }
            let mine = Query.Filter.field(try test.path("u"), .equal, .string("u1"))
            var query = test.query("a", mine, orders: [Query.Order(try test.path("n"))], limit: 3)
            try requireEqual(try await test.paths(query), ["a/28", "a/25", "a/22"], "ascending")
            query.offset = 1
            try requireEqual(try await test.paths(query), ["a/25", "a/22", "a/19"], "with offset")
            query.orders[0].descending = true
            query.offset = 0
            try requireEqual(try await test.paths(query), ["a/1", "a/4", "a/7"], "descending")
            query.start = Query.Cursor([.integer(26)], before: false)
            try requireEqual(try await test.paths(query), ["a/7", "a/10", "a/13"], "after a cursor")
            query.limit = 0
            try requireEqual(try await test.paths(query), [], "limit 0")
        },
        DocumentStoreContract("a cursor of a collection group is a place among all its collections") { test in
            for path in ["a/1/g/1", "a/1/g/5", "a/2/g/1", "a/2/g/5", "g/3"] {
                try await test.set(path, ["x": .integer(1)])
            }
            let place = Value.reference(try test.name("a/1/g/5").description)
            for filter in [nil, Query.Filter.field(try test.path("x"), .equal, .integer(1))] {
                var query = test.query("g", filter, group: true)
                query.start = Query.Cursor([place], before: false)
                try requireEqual(try await test.paths(query), ["a/2/g/1", "a/2/g/5", "g/3"], "after it")
                query.orders = [Query.Order(.documentName, descending: true)]
                try requireEqual(try await test.paths(query), ["a/1/g/1"], "after it, descending")
                query.end = Query.Cursor([.reference(try test.name("a/1/g/1").description)], before: true)
                try requireEqual(try await test.paths(query), [], "between both")
                let named = Query.Filter.field(.documentName, .greaterThanOrEqual, place)
                query = test.query("g", .and([filter, named].compactMap(\.self)), group: true)
                try requireEqual(
                    try await test.paths(query), ["a/1/g/5", "a/2/g/1", "a/2/g/5", "g/3"], "from its name on")
                let one = Query.Filter.field(.documentName, .equal, place)
                query = test.query("g", .and([filter, one].compactMap(\.self)), group: true)
                try requireEqual(try await test.paths(query), ["a/1/g/5"], "itself")
            }
        },
        DocumentStoreContract("ranges, in, array-contains, and or") { test in
            for index in 0..<10 {
                try await test.set(
                    "a/\(index)",
                    ["n": .integer(Int64(index)), "t": .array([.integer(Int64(index % 4)), .string("x")])])
            }
            let n = try test.path("n")
            let t = try test.path("t")
            func ids(_ filter: Query.Filter) async throws -> [String] { try await test.paths(test.query("a", filter)) }
            try requireEqual(
                try await ids(.and([.field(n, .greaterThan, .double(2.5)), .field(n, .lessThanOrEqual, .integer(5))])),
                ["a/3", "a/4", "a/5"], "a range")
            try requireEqual(
                try await ids(.field(n, .in, .array([.integer(7), .integer(1), .null]))), ["a/1", "a/7"], "in")
            try requireEqual(try await ids(.field(t, .arrayContains, .integer(2))), ["a/2", "a/6"], "contains")
            try requireEqual(
                try await ids(.or([.field(n, .equal, .integer(9)), .field(t, .arrayContains, .integer(1))])),
                ["a/1", "a/5", "a/9"], "or")
            try requireEqual(try await ids(.field(n, .notEqual, .integer(0))).count, 9, "not equal")
            try requireEqual(try await ids(.field(n, .equal, .null)), [], "equal null")
        },
        DocumentStoreContract("values too long for an index key are still distinguished and ordered") { test in
            let base = String(repeating: "long ", count: 60)
            for suffix in ["b", "c", "a"] { try await test.set("a/\(suffix)", ["s": .string(base + suffix)]) }
            let path = try test.path("s")
            let one = test.query("a", .field(path, .equal, .string(base + "b")))
            try requireEqual(try await test.paths(one), ["a/b"], "equality")
            let ordered = test.query("a", orders: [Query.Order(path, descending: true)])
            try requireEqual(try await test.paths(ordered), ["a/c", "a/b", "a/a"], "order")
            let range = test.query("a", .field(path, .greaterThan, .string(base + "a")))
            try requireEqual(try await test.paths(range), ["a/b", "a/c"], "range")
        },
        DocumentStoreContract("a query reads one moment however long it takes") { test in
            for index in 0..<700 { try await test.set("a/\(1000 + index)", ["n": .integer(Int64(index / 7))]) }
            for orders in [[], [Query.Order(try test.path("n"), descending: true)]] {
                let result = try await test.store.query(test.query("a", orders: orders), at: .strong)
                var documents = result.documents.makeAsyncIterator()
                var count = 0
                while let document = try await documents.next() {
                    count += 1
                    if count == 1 {
                        for index in [3, 350, 690] {
                            try await test.delete("a/\(1000 + index)")
                            try await test.set("a/\(2000 + index)", ["n": .integer(50)])
                        }
                    }
                    try require(document.updateTime <= result.readTime, "\(document.name) is newer than the query")
                }
                try requireEqual(count, 700, "the number of documents")
                try requireEqual(
                    try await test.paths(test.query("a", orders: orders), at: .at(result.readTime)).count, 700,
                    "the same query later")
            }
        },
        DocumentStoreContract("counts, sums, and averages") { test in
            for index in 1...4 { try await test.set("a/\(index)", ["n": .integer(Int64(index))]) }
            let path = try test.path("n")
            let result = try await test.store.aggregate(
                test.query("a", .field(path, .greaterThan, .integer(1))),
                [
                    Query.Aggregation(alias: "c", .count(upTo: nil)), Query.Aggregation(alias: "", .sum(path)),
                    Query.Aggregation(alias: "", .average(path)),
                ], at: .strong)
            try requireEqual(
                result.values, ["c": .integer(3), "field_1": .integer(9), "field_2": .double(3)], "the aggregates")
        },
        DocumentStoreContract("a limited aggregation takes the smallest values of the documents that have them") {
            test in
            for index in 0..<5 { try await test.set("a/a\(index)", ["other": .integer(1)]) }
            for (index, n) in [30, 20, 10, 40].enumerated() {
                try await test.set("a/b\(index)", ["n": .integer(Int64(n)), "m": .integer(Int64(index % 2))])
            }
            let n = try test.path("n")
            let name = [Query.Order(.documentName)]
            let even = Query.Filter.field(try test.path("m"), .equal, .integer(0))
            for (filter, orders, limit, offset, sum) in [
                (nil, [], 2, 0, 30), (nil, [], 2, 1, 50), (nil, [], nil, 1, 90), (nil, [], 9, 0, 100),
                (even, [], 1, 0, 10), (nil, [Query.Order(n, descending: true)], 2, 0, 70), (nil, name, 2, 0, 50),
                (nil, name, 2, 1, 30), (nil, [], 0, 0, 0),
            ] as [(Query.Filter?, [Query.Order], Int32?, Int32, Int64)] {
                var query = test.query("a", filter, orders: orders, limit: limit)
                query.offset = offset
                let result = try await test.store.aggregate(
                    query, [Query.Aggregation(alias: "s", .sum(n))], at: .strong)
                try requireEqual(result.values, ["s": .integer(sum)], "the sum with limit \(limit ?? -1)")
            }
        },
        DocumentStoreContract("a query that makes no sense is refused") { test in
            try await requireRefusal(.invalidArgument, "limit is negative", "a negative limit") {
                _ = try await test.paths(test.query("a", limit: -1))
            }
            try await requireRefusal(.invalidArgument, "'IN' requires an ArrayValue.", "a bad in") {
                _ = try await test.paths(test.query("a", .field(try test.path("n"), .in, .null)))
            }
        },
    ]
}
