import DocumentModel
import DocumentStore
import FirestoreProtocol

extension DocumentStoreContract {
    static let reading = [
        DocumentStoreContract("a past time reads as it was") { test in
            let first = try await test.set("a/1", ["n": .integer(1)])
            let second = try await test.set("a/1", ["n": .integer(2)])
            let third = try await test.delete("a/1")
            let fourth = try await test.set("a/1", ["n": .integer(4)])
            let before = Timestamp(microseconds: first.microseconds - 1)
            try requireEqual(try await test.fields("a/1", at: .at(before)), nil, "before it was")
            try requireEqual(try await test.fields("a/1", at: .at(first)), ["n": .integer(1)], "at first")
            try requireEqual(try await test.fields("a/1", at: .at(second)), ["n": .integer(2)], "then")
            try requireEqual(try await test.fields("a/1", at: .at(third)), nil, "deleted")
            try requireEqual(try await test.fields("a/1", at: .at(fourth)), ["n": .integer(4)], "again")
        },
        DocumentStoreContract("a read by name ends with the document that fills its limit") { test in
            let text = Value.string(String(repeating: "x", count: 1000))
            for id in ["1", "2", "4"] { try await test.set("a/\(id)", ["n": text]) }
            let names = try ["1", "3", "2", "4"].map { try test.name("a/\($0)") }
            for (limit, found) in [(0, 0), (1, 1), (1500, 3), (10_000, 4)] {
                let result = try await test.store.get(names, at: .strong, byteLimit: limit)
                let ids = result.documents.map { $0?.name.id }
                try requireEqual(ids, Array(["1", nil, "2", "4"].prefix(found)), "the documents within \(limit) bytes")
            }
        },
        DocumentStoreContract("a query's documents can be read twice") { test in
            for id in ["1", "2"] { try await test.set("a/\(id)", ["n": .string(id)]) }
            let query = Query(parent: ParentName(test.store.database), collectionID: "a")
            let documents = try await test.store.query(query).documents
            try await test.set("a/3", [:])
            for time in ["first", "second"] {
                var ids: [String] = []
                for try await document in documents { ids.append(document.name.id) }
                try requireEqual(ids, ["1", "2"], "the \(time) time")
            }
        },
        DocumentStoreContract("no commit gets a time that a read was given") { test in
            for index in 0..<20 {
                let read = try await test.store.get([try test.name("a/1")], at: .strong).readTime
                let commit = try await test.set("a/1", ["n": .integer(Int64(index))])
                try require(commit > read, "commit \(commit) is not after read \(read)")
                let after = try await test.store.get([try test.name("a/1")], at: .strong).readTime
                try require(after >= commit, "read \(after) is before commit \(commit)")
            }
        },
        DocumentStoreContract("the future cannot be read") { test in
            try await requireRefusal(.invalidArgument, "cannot be in the future", "a read of tomorrow") {
                let now = try await test.store.get([], at: .strong).readTime
                _ = try await test.document(
                    "a/1", at: .at(Timestamp(microseconds: now.microseconds + 86_400_000_000)))
            }
        },
        DocumentStoreContract("a listing has pages, orders, and missing documents") { test in
            for id in ["b", "d", "f"] { try await test.set("a/\(id)", ["n": .string(id)]) }
            for id in ["a", "c", "f"] { try await test.set("a/\(id)/sub/x", [:]) }
            var listing = DocumentListing(parent: ParentName(test.store.database), collectionID: "a", pageSize: 2)
            var found: [String] = []
            repeat {
                let page = try await test.store.list(listing, at: .strong)
                found += page.entries.map(\.name.id)
                listing.pageToken = page.nextPageToken
            } while !listing.pageToken.isEmpty
            try requireEqual(found, ["b", "d", "f"], "the documents")
            listing.showMissing = true
            found = []
            repeat {
                let page = try await test.store.list(listing, at: .strong)
                for entry in page.entries {
                    if case .missing(let name) = entry {
                        found.append("(\(name.id))")
                    } else {
                        found.append(entry.name.id)
                    }
                }
                listing.pageToken = page.nextPageToken
            } while !listing.pageToken.isEmpty
            try requireEqual(found, ["(a)", "b", "(c)", "d", "f"], "the documents with the missing")
            listing = DocumentListing(
                parent: ParentName(test.store.database), collectionID: "a",
                orders: [Query.Order(try test.path("n"), descending: true)])
            let page = try await test.store.list(listing, at: .strong)
            try requireEqual(page.entries.map(\.name.id), ["f", "d", "b"], "the ordered documents")
            try await requireRefusal(.invalidArgument, "Page size must be nonnegative.", "a negative page") {
                listing.pageSize = -1
                _ = try await test.store.list(listing, at: .strong)
            }
        },
        DocumentStoreContract("without a collection id a listing is of all collections of its parent") { test in
            for path in ["a/1", "a/2", "a/2/deep/x", "b/1/deep/x", "c/3", "a/1/below/y"] {
                try await test.set(path, [:])
            }
            let then = try await test.store.get([], at: .strong).readTime
            try await test.delete("a/1/below/y")
            func list(_ parent: ParentName, showMissing: Bool = false, at moment: ReadMoment = .strong) async throws
                -> [String]
            {
                var listing = DocumentListing(parent: parent, collectionID: "", pageSize: 1, showMissing: showMissing)
                var found: [String] = []
                repeat {
                    let page = try await test.store.list(listing, at: moment)
                    try require(page.entries.count <= 1, "a page has \(page.entries.count) entries")
                    found += page.entries.map(\.name.path)
                    listing.pageToken = page.nextPageToken
                } while !listing.pageToken.isEmpty
                return found
            }
            let root = ParentName(test.store.database)
            try requireEqual(try await list(root), ["a/1", "a/2", "c/3"], "the root's documents")
            try requireEqual(
                try await list(root, showMissing: true), ["a/1", "a/2", "b/1", "c/3"], "with the missing ones")
            let below = ParentName(try test.name("a/1"))
            try requireEqual(try await list(below), [], "below a document now")
            try requireEqual(try await list(below, at: .at(then)), ["a/1/below/y"], "below a document then")
            try await requireRefusal(.invalidArgument, "order_by needs a collection_id", "an order of all collections")
            {
                _ = try await test.store.list(
                    DocumentListing(
                        parent: root, collectionID: "", orders: [Query.Order(try test.path("n"))]), at: .strong)
            }
            for token in ["x", "1-", "1-6", "1-612f622f63", "1-ff", "-1-61", "99999999999999999999-61"] {
                try await requireRefusal(.invalidArgument, "Invalid page token.", "the token \(token)") {
                    _ = try await test.store.list(
                        DocumentListing(parent: root, collectionID: "a", pageToken: token), at: .strong)
                }
            }
        },
        DocumentStoreContract("the parts of a collection group have pages, now and then") { test in
            for start in stride(from: 0, to: 300, by: 100) {
                _ = try await test.store.commit(
                    try (start..<start + 100).map {
                        Write(.update(try test.name("x/\($0 % 7)/g/\(1000 + $0)"), fields: ["n": .integer(1)]))
                    })
            }
            let group = test.query("g", group: true)
            let all = try await test.paths(group)
            func parts(_ count: Int64, pageSize: Int32, at moment: ReadMoment = .strong) async throws -> [String] {
                var found: [String] = []
                var token = ""
                repeat {
                    let page = try await test.store.partition(
                        group, count: count, pageSize: pageSize, pageToken: token, at: moment)
                    try require(
                        pageSize == 0 || page.names.count <= Int(pageSize), "a page has \(page.names.count) names")
                    found += page.names.map(\.path)
                    token = page.nextPageToken
                } while !token.isEmpty
                return found
            }
            let whole = try await parts(3, pageSize: 0)
            try requireEqual(whole.count, 3, "the number of places")
            try requireEqual(whole.compactMap { all.firstIndex(of: $0) }, [75, 150, 225], "the places")
            try requireEqual(try await parts(3, pageSize: 2), whole, "the places in pages")
            let then = try await test.store.get([], at: .strong).readTime
            _ = try await test.store.commit(try all[50...].map { Write(.delete(try test.name($0))) })
            try requireEqual(try await parts(3, pageSize: 1), [], "few documents have no parts")
            try requireEqual(try await parts(3, pageSize: 1, at: .at(then)), whole, "the places then")
            for (count, size, words) in [(0, 0, "partition_count"), (1, -1, "Page size")] as [(Int64, Int32, String)] {
                try await requireRefusal(.invalidArgument, words, "count \(count), page size \(size)") {
                    _ = try await parts(count, pageSize: size)
                }
            }
            try await requireRefusal(.invalidArgument, "collection group", "a single collection") {
                _ = try await test.store.partition(
                    test.query("g"), count: 1, pageSize: 0, pageToken: "", at: .strong)
            }
        },
        DocumentStoreContract("collection ids are those with documents, now or at a time") { test in
            try await test.set("b/1/deep/2/deeper/3", [:])
            let then = try await test.set("a/1", [:])
            try await test.delete("a/1")
            let root = ParentName(test.store.database)
            func ids(_ parent: ParentName, _ moment: ReadMoment = .strong) async throws -> [String] {
                var found: [String] = []
                var token = ""
                repeat {
                    let page = try await test.store.listCollectionIDs(
                        parent: parent, pageSize: 1, pageToken: token, at: moment)
                    found += page.ids
                    token = page.nextPageToken
                } while !token.isEmpty
                return found
            }
            try requireEqual(try await ids(root), ["b"], "the root's collections")
            try requireEqual(try await ids(ParentName(try test.name("b/1"))), ["deep"], "below a missing document")
            try requireEqual(try await ids(ParentName(try test.name("b/2"))), [], "below nothing")
            let past = try await test.store.listCollectionIDs(parent: root, pageSize: 0, pageToken: "", at: .at(then))
            try requireEqual(past.ids, ["a", "b"], "the root's collections then")
        },
        DocumentStoreContract("a store has one lineage for all clients that know its commits") { test in
            let lineage = try await test.store.lineage(having: nil)
            let first = try await test.set("a/1", [:])
            let last = try await test.delete("a/1")
            for seen in [nil, first, last] {
                try requireEqual(try await test.store.lineage(having: seen), lineage, "having \(seen as Any)")
            }
            for difference in [-1, 1] as [Int64] {
                let other = Timestamp(microseconds: last.microseconds + difference)
                let found = try await test.store.lineage(having: other == first ? nil : other)
                try require(other == first || found != lineage, "\(difference) µs beside the last commit")
            }
        },
    ]
}
