import Testing

@testable import FerryCLI

@Suite struct TerminalTests {
    @Test(arguments: [
        ("Plain é 日本", "Plain é 日本"), ("a\u{1B}[2Jb\r\n", "a\\u{1B}[2Jb\\u{D}\\u{A}"),
        ("\u{202E}gpj.exe", "\\u{202E}gpj.exe"), ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
        ("zero\u{200B}width\u{FEFF}", "zero\\u{200B}width\\u{FEFF}"),
        ("a\u{200D}b\u{200C}c", "a\\u{200D}b\\u{200C}c"), ("line\u{2028}sep\u{85}", "line\\u{2028}sep\\u{85}"),
        ("soft\u{AD}hyphen\u{9B}31m", "soft\\u{AD}hyphen\\u{9B}31m"), ("tag\u{E0041}", "tag\\u{E0041}"),
        ("filler\u{3164}\u{115F}", "filler\\u{3164}\\u{115F}"),
        ("👨‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 नमस्ते می‌خواهم क्‍ष", "👨‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 नमस्ते می‌خواهم क्‍ष"),
    ]) func `what a terminal would act on or hide is shown as its escape`(text: String, shown: String) {
        #expect(Array(text.printable.unicodeScalars) == Array(shown.unicodeScalars), "\(text.printable)")
    }

    @Test(arguments: [0, 0.5, 59, 3599, 86_399, 1e9, 1e300, .infinity, -.infinity, -1, .nan])
    func `any time can be told`(
        seconds: Double
    ) {
        #expect(!formatted(seconds: seconds).isEmpty)
    }

    @Test(arguments: [0, 1, .max, .min, 1 << 62] as [Int64]) func `any size can be told`(bytes: Int64) {
        #expect(!formatted(bytes: bytes).isEmpty)
    }
}
