import DocumentModel
import DocumentStore

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
        DocumentStoreContract("collection ids are of what holds something, now or then") { test in
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
    ]
}
