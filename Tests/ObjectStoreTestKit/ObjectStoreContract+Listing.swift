import ObjectStorage

extension ObjectStoreContract {
    static let listing = [
        ObjectStoreContract("odd keys are kept apart") { store, keys in
            for name in oddNames { try await store.put(try keys("odd/" + name), Array(name.utf8)) }
            for name in oddNames {
                try require(
                    try await store.read(try keys("odd/" + name), limit: 1024) == Array(name.utf8),
                    "the object \(name) has another's content")
            }
            let listed = try await names(store, prefix: keys.prefix + "odd/")
            try requireEqual(listed, sorted(oddNames.map { keys.prefix + "odd/" + $0 }), "the listing")
        },
        ObjectStoreContract("a listing is sorted by bytes and holds the prefix only") { store, keys in
            let wanted = ["l/a", "l/a-b", "l/a/b", "l/a/c/d", "l/a0", "l/b"]
            for name in wanted + ["k", "l", "m/a"] { try await store.put(try keys(name), [0]) }
            try requireEqual(
                try await names(store, prefix: keys.prefix + "l/"), wanted.map { keys.prefix + $0 }, "the listing")
            try requireEqual(
                try await names(store, prefix: keys.prefix + "l/a/"), ["l/a/b", "l/a/c/d"].map { keys.prefix + $0 },
                "the listing below")
            try requireEqual(
                try await names(store, prefix: keys.prefix + "l/a0"), [keys.prefix + "l/a0"], "a listing of one")
            try requireEqual(try await names(store, prefix: keys.prefix + "l/zzz"), [], "an empty listing")
        },
        ObjectStoreContract("pages make the whole, whatever their length") { store, keys in
            var all: [String] = []
            for index in 0..<25 {
                let name = "paged/\(index % 3)/\(index)"
                all.append(keys.prefix + name)
                try await store.put(try keys(name), [UInt8](repeating: 1, count: index))
            }
            for limit in [1, 2, 7, 24, 25, 26, 1000] {
                var found: [String] = []
                var after: ObjectKey?
                repeat {
                    let page = try await store.list(prefix: keys.prefix + "paged/", after: after, limit: limit)
                    try require(page.objects.count <= limit, "a page of \(page.objects.count), asked for \(limit)")
                    try require(!page.objects.isEmpty || page.next == nil, "an empty page in the middle")
                    found += page.objects.map(\.key.text)
                    after = page.next
                } while after != nil
                try requireEqual(found, sorted(all), "the listing in pages of \(limit)")
            }
        },
        ObjectStoreContract("a listing has the sizes and lacks deleted objects") { store, keys in
            for size in 1...4 { try await store.put(try keys("sized/\(size)"), [UInt8](repeating: 9, count: size)) }
            try await store.delete(try keys("sized/3"))
            let page = try await store.list(prefix: keys.prefix + "sized/", after: nil, limit: 10)
            try requireEqual(page.objects.map(\.size), [1, 2, 4], "the sizes")
            try requireEqual(page.next, nil, "the next page")
        },
        ObjectStoreContract("a listing may begin after a key that is not there") { store, keys in
            for name in ["after/a", "after/c/x", "after/e"] { try await store.put(try keys(name), []) }
            let page = try await store.list(prefix: keys.prefix + "after/", after: try keys("after/b/zz"), limit: 10)
            try requireEqual(page.objects.map(\.key), [try keys("after/c/x"), try keys("after/e")], "the rest")
        },
    ]

    private static let oddNames = [
        "space in it", "plus+and&amp=?#", "percent%41", "percentA", "%", "%%", ".", ".hidden", "a.d", "a.d/b", "b.d/c",
        "b", "ümlaut", "u\u{308}mlaut", "emoji 🛶", "tail.", "quote\"'", "back\\slash", "<tag>", "semi;colon",
        "tilde~star*", String(repeating: "x", count: 200),
    ]

    private static func names(_ store: any ObjectStore, prefix: String) async throws -> [String] {
        var names: [String] = []
        try await store.forEach(prefix: prefix) { names.append($0.key.text) }
        return names
    }

    private static func sorted(_ names: [String]) -> [String] {
        names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
