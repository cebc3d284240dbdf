/// Task files as users and programs write them: odd quotes, comments, lists of all styles, both
/// line endings, byte-order marks.
struct GeneratedFile {
    var text: String
    /// The lines of each key in the file.
    var blocks: [(key: String, lines: String)]

    init(_ random: inout SeededGenerator) {
        func pick<T>(_ values: [T]) -> T { values[Int.random(in: values.indices, using: &random)] }
        func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        let lineEnd = chance(0.25) ? "\r\n" : "\n"
        let indent = chance(0.1) ? "  " : ""
        let comment = { (random: inout SeededGenerator) in
            Int.random(in: 0..<4, using: &random) == 0 ? "   # \u{FC}ber: [x" : ""
        }
        func scalar() -> String {
            pick([
                "plain", "two words", "'it''s'", "\"q \\\" \\u00e9 #\"", "12", "0123", "1.50", "-0.5", "true", "no",
                "~", "null",
                "2026-08-22", "2026-08-22T10:00", "11:30", "é 🛒", "a:b", "'@x'", "\"@x\"", "!tag v", "&anchor v",
                "[a, 'b']",
                "{k: v, l: [1]}", "[]", "{}", "\"[[Link]]\"", "FREQ=WEEKLY;BYDAY=MO",
            ])
        }
        blocks = []
        let known: [(String, [String])] = [
            ("title", ["Plain", "\"Quoted: #1\"", "'single'", "2026", "no"]),
            ("priority", ["high", "medium", "low", "normal", "9", "'high'", "High"]),
            ("due", ["2025-12-31", "2025-12-31T17:00", "'2026-01-01'", "2026-11-30T17:00+01:00", "soon", ""]),
            (
                "tags",
                [
                    "[a, b]", "[ 'a' ,  b, \"c d\" ]", "a, b", "\n  - a\n  - 'b'\n  - c # x", "\n- a\n- b", "[]", "",
                    "{x: 1}",
                ]
            ),
            ("completed", ["true", "false", "yes", "no", "2025-12-28", "'true'"]),
        ]
        var keys: [(String, [String]?)] = known.filter { _ in chance(0.5) }.map { ($0, $1) }
        keys += (0..<Int.random(in: 0...5, using: &random)).map { ("custom\($0)", nil) }
        keys.shuffle(using: &random)
        for (key, choices) in keys {
            var lines = chance(0.15) ? "# about \(key)\n" : ""
            let head = chance(0.1) ? "\"\(key)\":" : key + pick([":", ":", " :"])
            let block = pick([
                "\n  - a\n  - \"b\"", "\n- a\n\n- k: v\n  l: w", "\n  a: 1\n  b:\n    - x # y", " |\n  one\n\n    two",
                " >-\n  fold\n  ed",
                "\n  # inner\n  - x", "\n    b: 2\n    a: 1", "\n  - - 1\n    - 2", " |+\n  keep\n",
            ])
            let value: String
            if let choice = choices.map(pick) {
                value = choice.isEmpty || choice.hasPrefix("\n") ? choice : pick([" ", "   "]) + choice
            } else {
                value = chance(0.4) ? block : chance(0.1) ? "" : " " + scalar()
            }
            let tail = value.utf8.contains(UInt8(ascii: "\n")) ? "" : comment(&random)
            lines +=
                (head + value + tail).split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n")
                + "\n"
            if chance(0.1) { lines += "\n" }
            let placed = lines.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.isEmpty ? "" : indent + $0
            }
            blocks.append((key, placed.joined(separator: lineEnd)))
        }
        let body = pick([
            "", "\n# Body\n\n- [ ] one\n- [x] two\n", "no newline", "\u{1F6D2} x\n\n\n", "---\nrule\n", "a\nb\nc\nd\n",
        ])
        // Bodies also mix line endings, or use carriage returns alone.
        let isMixed = chance(0.2)
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false)
        let localBody = lines.dropFirst().reduce(into: String(lines.first ?? "")) {
            $0 += (isMixed ? pick(["\n", "\r\n", "\r", "\r\r\n"]) : lineEnd) + $1
        }
        let bom = chance(0.15) ? "\u{FEFF}" : ""
        if blocks.isEmpty, body.hasPrefix("---") || chance(0.5) {
            text = bom + (body.hasPrefix("---") ? "" : localBody)
        } else {
            text =
                bom + "---" + lineEnd + blocks.map(\.lines).joined() + pick(["---", "---", "..."]) + lineEnd + localBody
        }
    }
}
