import Testing
import YAML

@Suite struct YAMLScalarWriterTests {
    @Test(arguments: [
        "plain words", "émigré 🛒", "a:b", "a#b", "-dash", "x, y", "it's", "50% off", "http://x.y/z", "C++",
    ])
    func `harmless text stays plain`(text: String) {
        #expect(YAMLScalarWriter().write(text) == text)
    }

    @Test(arguments: [
        "", " lead", "trail ", "no", "Yes", "on", "y", "true", "null", "~", "0123", "12", "1.5", "1e3", "0x1F", "12:30",
        "2026-08-22", "2026-08-22T10:00:00Z", "-1", ".5", "a: b", "key:", "a #b", "#b", "- a", "-", "? a", "@home",
        "`x",
        "*bold*", "&a", "!x", "[a]", "{a}", "|", ">", "'a'", "\"a\"", "%x", "two\nlines", "tab\there", "\u{FEFF}x",
        "nul\u{0}", "---", "...", "--- w", "... w", "a\u{2028}b", "a\u{85}b", "=", "<<",
    ])
    func `text that another reader could mistake is quoted`(text: String) {
        let written = YAMLScalarWriter().write(text)
        #expect(written.hasPrefix("\""))
        #expect(read("k: \(written)")?.text == text)
        #expect(read("\(YAMLScalarWriter(.key).write(text)): 1", 2)?.text == text)
    }

    @Test(arguments: [
        ("no", "no"), ("12:30", "12:30"), ("2026-08-22", "2026-08-22"), ("12", "\"12\""), ("true", "\"true\""),
    ])
    func `for readers of the core schema only its own types are quoted`(text: String, written: String) {
        #expect(YAMLScalarWriter(readers: .coreSchema).write(text) == written)
    }

    @Test func `a style is kept where it can carry the text`() {
        let writer = YAMLScalarWriter()
        #expect(writer.write("a", like: .singleQuoted) == "'a'")
        #expect(writer.write("it's", like: .singleQuoted) == "'it''s'")
        #expect(writer.write("a\nb", like: .singleQuoted) == "\"a\\nb\"")
        #expect(writer.write("a", like: .doubleQuoted) == "\"a\"")
        #expect(writer.write("a", like: .literal) == "a")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `every string reads back as itself in every place`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet: [Unicode.Scalar] = Array(
            "ab0 1.:-#?,[]{}&*!|>'\"%@`\\\n\r\t~=é🛒\u{0}\u{7F}\u{85}\u{2028}\u{FEFF}\u{FFFF}\u{10FFFF}".unicodeScalars)
        for _ in 0..<300 {
            var view = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                view.append(alphabet.randomElement(using: &random) ?? "a")
            }
            let text = String(view)
            for readers in [YAMLScalarWriter.Readers.all, .coreSchema] {
                for style in [YAMLScalar.Style.plain, .singleQuoted, .doubleQuoted, .literal] {
                    let block = YAMLScalarWriter(.block, readers: readers).write(text, like: style)
                    let flow = YAMLScalarWriter(.flow, readers: readers).write(text, like: style)
                    let key = YAMLScalarWriter(.key, readers: readers).write(text, like: style)
                    for (source, path) in [
                        ("k: \(block) # c\nz: 1\n", 0), ("k: [\(flow), {a: \(flow)}]\n", 1), ("\(key): 1\n", 2),
                        ("k:\n  - \(block)\n", 3),
                    ] {
                        let found = read(source, path)
                        let isSame = found.map { $0.text.utf8.elementsEqual(text.utf8) && isString($0) } ?? false
                        #expect(isSame, "seed \(seed), \(text.debugDescription) as \(source.debugDescription)")
                    }
                }
            }
        }
    }

    private func isString(_ scalar: YAMLScalar) -> Bool {
        scalar.style != .plain || YAMLCoreValue(plain: scalar.text) == .string
    }

    private func read(_ source: String, _ path: Int = 0) -> YAMLScalar? {
        guard let pair = try? YAMLParser.parse(Array(source.utf8))?.mapping?.first else { return nil }
        return switch path {
        case 0: pair.value.scalar
        case 1: pair.value.sequence?.last?.mapping?.first?.value.scalar
        case 2: pair.key.scalar
        default: pair.value.sequence?.first?.scalar
        }
    }
}
