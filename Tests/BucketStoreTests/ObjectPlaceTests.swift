import SystemIO
import Testing

@testable import BucketStore

struct ObjectPlaceTests {
    @Test func `a name that a store created is a place`() throws {
        let name = "0f/\(SystemRandom.hex(16))"
        #expect(ObjectPlace(name) == .file(name))
        let span = SegmentPlace(number: 12, offset: 8192, size: 70_000)
        #expect(ObjectPlace(span.description) == .segment(span))
        #expect(span.path == "segments/12")
        #expect(span.blocks == 8192..<8192 + 18 * 4096)
        #expect(ObjectPlace("s/1/4096/0") == .segment(SegmentPlace(number: 1, offset: 4096, size: 0)))
    }

    @Test(arguments: [
        "", "/", "s", "s/", "s/1", "s/1/4096", "s/1/4096/", "s/1/4096/5/", "s//4096/5", "s/1/0/5", "s/1/4097/5",
        "s/-1/4096/5", "s/+1/4096/5", "s/01/4096/5", "s/1/4096/5x", "s/../4096/5", "s/1/4096/99999999999999999999",
        "S/1/4096/5", "../../etc/passwd", "ab/../../../../../../../../../../etc", "ab/0123",
        "AB/0123456789abcdef0123456789abcdef",
        "ab/0123456789abcdef0123456789abcde/", "ab/0123456789abcdef0123456789abcde\u{0}",
    ])
    func `any other text is not a place`(text: String) { #expect(ObjectPlace(text) == nil) }
}

extension SegmentPlace {
    fileprivate var path: String { Self.path(of: number) }
}
