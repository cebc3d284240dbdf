import Testing

@testable import BucketStore

struct RecentUsesTests {
    @Test func `the least recently used files are dropped first, and only as many as needed`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 4) == [])
        #expect(recent.add("b", 4) == [])
        #expect(recent.add("a", 4) == [])
        #expect(recent.add("c", 4) == ["b"])
        #expect(recent.add("d", 9) == ["a", "c"])
        #expect(recent.add("e", 20) == ["d", "e"])
        #expect(recent.add("f", 10) == [])
    }

    @Test func `a file that is used repeatedly displaces no other file`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 5) == [])
        for _ in 0..<10_000 { #expect(recent.add("b", 5) == []) }
        #expect(recent.add("a", 5) == [])
        #expect(recent.add("c", 5) == ["b"])
    }

    @Test func `a removed file frees its space, and is not dropped again`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 5) == [])
        #expect(recent.add("b", 5) == [])
        recent.remove("a")
        recent.remove("a")
        #expect(recent.add("c", 5) == [])
        #expect(recent.add("d", 5) == ["b"])
    }

    @Test func `a file has the size of its last use`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 9) == [])
        #expect(recent.add("a", 1) == [])
        #expect(recent.add("b", 9) == [])
        #expect(recent.add("c", 1) == ["a"])
    }
}
