import Testing
import Ustar

@Suite struct UstarTests {
    private func archive(_ files: [(String, [UInt8])]) -> [UInt8] {
        var archive: [UInt8] = []
        for (name, content) in files { Ustar.append(content, named: name, to: &archive) }
        Ustar.end(&archive)
        return archive
    }

    @Test func `an archive contains the files that were appended`() throws {
        let long = String(repeating: "d", count: 155) + "/" + String(repeating: "n", count: 100)
        let files: [(String, [UInt8])] = [
            ("a", []), ("ü/b c", [1]), ("full", [UInt8](repeating: 7, count: 512)),
            ("odd", [UInt8](repeating: 8, count: 513)),
            (long, Array("long".utf8)), (String(repeating: "x", count: 100), [0, 0]),
        ]
        let bytes = archive(files)
        #expect(bytes.count == Ustar.size(of: files.map(\.1.count)))
        let read = try Ustar.files(in: bytes)
        #expect(read.map(\.name) == files.map(\.0) && read.map { Array($0.content) } == files.map(\.1))
        #expect(try Ustar.files(in: archive([])).isEmpty)
    }

    @Test
    func `content that is read in place is appended like other content, and leaves nothing if it is short or fails`()
        throws
    {
        struct Trouble: Error {}
        let content = (0..<700).map { UInt8(truncatingIfNeeded: $0) }
        var bytes: [UInt8] = []
        func append(_ size: Int, _ name: String, _ most: Int, failing: Bool = false) throws -> Bool {
            try Ustar.append(size, named: name, to: &bytes) { room in
                if failing { throw Trouble() }
                room.copyBytes(from: content.prefix(min(most, room.count)))
                return min(most, room.count)
            }
        }
        #expect(try append(700, "whole", 700))
        #expect(try !append(700, "short", 699))
        #expect(throws: Trouble.self) { try append(700, "failed", 700, failing: true) }
        #expect(try append(0, "empty", 0))
        Ustar.end(&bytes)
        #expect(bytes == archive([("whole", content), ("empty", [])]))
        #expect(Ustar.size(ofOne: 700) == Ustar.size(of: [700]))
    }

    @Test func `a header has the magic, the time and a checksum where tar expects them`() {
        var bytes: [UInt8] = []
        Ustar.append(Array("hello".utf8), named: "a.txt", time: 0o1234567, to: &bytes)
        Ustar.append([], named: "b.txt", time: -1, to: &bytes)
        Ustar.end(&bytes)
        #expect(bytes.count == 512 * 5)
        #expect(bytes[257..<265].elementsEqual("ustar\u{0}00".utf8) && bytes[512..<517].elementsEqual("hello".utf8))
        #expect(bytes[136..<148].elementsEqual("00001234567\u{0}".utf8))
        #expect(bytes[1024 + 136..<1024 + 148].elementsEqual("00000000000\u{0}".utf8))
        let sum = (0..<512).reduce(0) { $0 + ((148..<156).contains($1) ? 32 : Int(bytes[$1])) }
        #expect(Int(String(decoding: bytes[148..<154], as: UTF8.self), radix: 8) == sum)
        #expect(bytes[1536...].allSatisfy { $0 == 0 })
    }

    @Test func `names that do not fit are known`() {
        for name in ["", "a\u{0}b", String(repeating: "n", count: 101), "/" + String(repeating: "n", count: 100)] {
            #expect(!Ustar.canName(name), "\(name)")
        }
        #expect(!Ustar.canName(String(repeating: "d", count: 156) + "/" + String(repeating: "n", count: 100)))
        #expect(Ustar.canName(String(repeating: "d/", count: 100)))
    }

    @Test func `damaged archives are refused, wherever they are damaged`() throws {
        let whole = archive([("name", Array("content".utf8)), ("other", [])])
        for length in stride(from: 0, to: 2 * 512, by: 97) {
            #expect(throws: UstarError.self, "\(length)") { try Ustar.files(in: Array(whole[..<length])) }
        }
        for index in 0..<512 {
            var damaged = whole
            damaged[index] ^= 1
            #expect(throws: UstarError.self, "\(index)") { try Ustar.files(in: damaged) }
        }
        // A link with a correct checksum.
        var link = whole
        link[156] = UInt8(ascii: "2")
        let check = (0..<512).reduce(0) { $0 + ((148..<156).contains($1) ? 0x20 : Int(link[$1])) }
        let digits = Array(String(check, radix: 8).utf8)
        link.replaceSubrange(148..<154, with: repeatElement(UInt8(ascii: "0"), count: 6 - digits.count) + digits)
        let error = #expect(throws: UstarError.self) { try Ustar.files(in: link) }
        #expect(error?.message.contains("neither a plain file nor a directory: name") == true)
    }
}
