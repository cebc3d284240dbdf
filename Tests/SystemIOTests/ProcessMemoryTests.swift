import Testing

@testable import SystemIO

struct ProcessMemoryTests {
    @Test(
        arguments: [
            (
                "7f0000001000-7f0000003000 r-xp 00001000 08:01 42 /usr/lib/libx.so.1",
                0x7f00_0000_1000..<0x7f00_0000_3000
            ),
            ("1000-2000 r-xp 00000000 08:01 42                         /a path with spaces", 0x1000..<0x2000),
        ] as [(String, Range<UInt>)])
    func `code of files may be dropped`(line: String, range: Range<UInt>) {
        #expect(ProcessMemory.codeRange(line) == range)
    }

    @Test(arguments: [
        "", "r-xp", "1000-2000 r--p 00000000 08:01 42 /relocated", "1000-2000 rwxp 00000000 08:01 42 /written",
        "1000-2000 rw-p 00000000 00:00 0 [heap]", "1000-2000 r-xp 00000000 00:00 0 [vdso]",
        "1000-2000 r-xp 00000000 00:00 0", "2000-1000 r-xp 00000000 08:01 42 /backwards",
        "x-y r-xp 00000000 08:01 42 /no/numbers",
    ])
    func `nothing else may`(line: String) {
        #expect(ProcessMemory.codeRange(line) == nil)
    }

    @Test func `running code continues when its pages are dropped`() {
        let text = (0..<1000).map(String.init)
        ProcessMemory.giveBack()
        #expect(text.compactMap { Int($0) } == Array(0..<1000))
    }
}
