import Testing
import YAML

@Suite struct YAMLParserTests {
    private func parse(_ text: String) throws -> YAMLNode? { try YAMLParser.parse(Array(text.utf8)) }

    /// Returns the source of every value of the top-level mapping, by key.
    private func sources(_ text: String) throws -> [String: String] {
        let bytes = Array(text.utf8)
        let pairs = try YAMLParser.parse(bytes)?.mapping ?? []
        return Dictionary(
            uniqueKeysWithValues: pairs.map {
                ($0.key.scalar?.text ?? "?", String(decoding: bytes[$0.value.span], as: UTF8.self))
            })
    }

    @Test func `spans cover exactly the bytes of a value`() throws {
        let found = try sources(
            """
            plain: two words   # comment
            single: 'it''s'
            double: "a \\" b" # comment
            flow: [a, "b", {c: d}] # comment
            empty:
            block:
              - a  # first

              - b: c
                d: e # last
            # a comment between
            map:
              x: 1

            many: one
              two
            end: !!str &name 12
            """)
        #expect(
            found == [
                "plain": "two words", "single": "'it''s'", "double": "\"a \\\" b\"", "flow": "[a, \"b\", {c: d}]",
                "empty": "", "block": "- a  # first\n\n  - b: c\n    d: e", "map": "x: 1", "many": "one\n  two",
                "end": "!!str &name 12",
            ])
    }

    @Test func `spans of block scalars end before their last line break`() throws {
        let found = try sources("a: |\n  one\n  two  \n\n\nb: >-\n  x\n\nc: |+\n  keep\n\nd: 1\n")
        #expect(found == ["a": "|\n  one\n  two  ", "b": ">-\n  x", "c": "|+\n  keep\n", "d": "1"])
    }

    @Test func `spans are bytes after characters of every width and a byte-order mark`() throws {
        let text = "\u{FEFF}ключ: значение\n🛒: \"молоко 🥛\"\nd: é # ü\nlast: x"
        let found = try sources(text)
        #expect(found == ["ключ": "значение", "🛒": "\"молоко 🥛\"", "d": "é", "last": "x"])
        let long = (0..<300).map { "k\($0): \(String(repeating: $0 % 3 == 0 ? "ж" : "a", count: $0 % 40 + 1))" }
        let all = try sources(long.joined(separator: "\n"))
        #expect(all.allSatisfy { name, value in long.contains("\(name): \(value)") })
    }

    @Test func `carriage returns belong to line breaks`() throws {
        let found = try sources("a: 1\r\nb: |\r\n  x\r\n  y\r\nc:\r\n  - p\r\n  - q\r\n")
        #expect(found == ["a": "1", "b": "|\r\n  x\r\n  y", "c": "- p\r\n  - q"])
    }

    @Test func `a part of a text is read with offsets and lines of the whole`() throws {
        let bytes = Array("---\na: b\nc: 'd\n---\nnot yaml: : :".utf8)
        let pairs = try #require(try YAMLParser.parse(bytes, in: 4..<9)?.mapping)
        #expect(pairs[0].value.span == 7..<8)
        let error = #expect(throws: YAMLError.self) { try YAMLParser.parse(bytes, in: 4..<15) }
        #expect(error?.line == 3)
        #expect(error?.column == 4)
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "\u{FEFF}", "---\n"])
    func `a text without content has no tree`(text: String) throws {
        let root = try parse(text)
        #expect(root == nil || root?.isAbsent == true)
    }

    @Test(arguments: [
        ("a: b: c", YAMLError.Code.malformed, 1, 5), ("a: 1\nb: 'x\nc: 2", .malformed, 2, 4),
        ("a: [1, 2\nb: 3", .malformed, 1, 4), ("a: 1\n\tb: 2", .malformed, 2, 1), ("a: @home", .malformed, 1, 4),
        ("a: 1\na: 2", .duplicateKey, 2, 1), ("m:\n  x: 1\n  'x': 2", .duplicateKey, 3, 3),
        ("a: &x 1\nb: *x", .alias, 2, 4), ("a: 1\n---\nb: 2", .multipleDocuments, 2, 1),
        ("a: 1\nb: \u{1}", .invalidCharacter, 2, 4), ("word\nkey: 1", .malformed, 2, 4),
    ])
    func `errors name their line, column and kind`(text: String, code: YAMLError.Code, line: Int, column: Int) {
        let error = #expect(throws: YAMLError.self) { try self.parse(text) }
        #expect(error?.code == code)
        #expect(error?.line == line, "\(String(describing: error))")
        #expect(error?.column == column, "\(String(describing: error))")
    }

    @Test func `bytes that are not UTF-8 are refused with their place`() {
        let error = #expect(throws: YAMLError.self) {
            try YAMLParser.parse(Array("a: 1\nb: x".utf8) + [0xFF, 0x0A])
        }
        #expect(error?.code == .invalidCharacter)
        #expect(error?.line == 2)
    }

    @Test func `depth, nodes and bytes are bounded`() {
        let limits = YAMLLimits(depth: 64, nodes: 1000, bytes: 100_000)
        func code(_ text: String) -> YAMLError.Code? {
            do throws(YAMLError) {
                _ = try YAMLParser.parse(Array(text.utf8), limits: limits)
                return nil
            } catch { return error.code }
        }
        #expect(code(String(repeating: "[", count: 60) + String(repeating: "]", count: 60)) == nil)
        #expect(code(String(repeating: "[", count: 70) + String(repeating: "]", count: 70)) == .overLimit)
        #expect(code(String(repeating: "[", count: 90_000)) == .overLimit)
        #expect(code("[" + String(repeating: "a,", count: 2000) + "]") == .overLimit)
        #expect(code("a: " + String(repeating: "x", count: 100_000)) == .overLimit)
    }

    @Test func `an alias bomb is refused at its first alias`() {
        let bomb = "a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\n"
        let error = #expect(throws: YAMLError.self) { try self.parse(bomb) }
        #expect(error?.code == .alias)
        #expect(error?.line == 2)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `damaged texts give an error or a tree whose spans nest`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let good =
            "a: [1, 'b', {c: \"d\"}]\nблок: |\n  x\n\n  y\nlist:\n- é\n-\n  - z # c\n? k\n: v\nw: >+\n folded\n\n"
        let inserts: [[UInt8]] =
            ["\n", "\t", ": ", "- ", "#", "'", "\"", "[", "}", "|", "&", "*", "%", "\r"].map {
                Array(($0 as String).utf8)
            } + [[0xFF], [0], [0xE2, 0x80, 0xA8]]
        for _ in 0..<200 {
            var bytes = Array(good.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(contentsOf: inserts.randomElement(using: &random) ?? [], at: place)
                default: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
                }
            }
            guard let root = try? YAMLParser.parse(bytes) else { continue }
            #expect(nests(root, within: 0..<bytes.count), "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    private func nests(_ node: YAMLNode, within outer: Range<Int>) -> Bool {
        guard node.span.lowerBound >= outer.lowerBound, node.span.upperBound <= outer.upperBound else { return false }
        switch node.content {
        case .scalar: return true
        case .sequence(let nodes, _): return nodes.allSatisfy { nests($0, within: node.span) }
        case .mapping(let pairs, _):
            return pairs.allSatisfy { nests($0.key, within: node.span) && nests($0.value, within: node.span) }
        }
    }
}
