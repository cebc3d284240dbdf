import Control
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
    ]) func `characters that a terminal would interpret or hide are escaped`(text: String, shown: String) {
        #expect(Array(text.printable.unicodeScalars) == Array(shown.unicodeScalars), "\(text.printable)")
    }

    @Test(arguments: [0, 0.5, 59, 3599, 86_399, 1e9, 1e300, .infinity, -.infinity, -1, .nan])
    func `any time can be formatted`(
        seconds: Double
    ) {
        #expect(!formatted(seconds: seconds).isEmpty)
    }

    @Test(arguments: [0, 1, .max, .min, 1 << 62] as [Int64]) func `any size can be formatted`(bytes: Int64) {
        #expect(!formatted(bytes: bytes).isEmpty)
    }

    @Test(arguments: [
        ("plain", 5), ("会議", 4), ("e\u{301}", 1), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("✈️", 2), ("👍🏽", 2), ("नमस्ते", 4), ("한국", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("", 0), ("ｗｉｄｅ", 8), ("→", 1),
    ]) func `a text takes the columns of its characters`(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test func `a text is cut between characters, and never longer than its room`() {
        for text in ["plain words", "会議の資料を", "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", "e\u{301}e\u{301}e\u{301}"] {
            for limit in 1...12 {
                let cut = text.cut(to: limit)
                #expect(cut.columns <= limit && (cut == text) == (text.columns <= limit))
            }
        }
        #expect("two words".cut(to: 5) == "two…")
    }

    private func table(_ titles: [String]) -> Table {
        var table = Table(flexible: [1], droppable: [0, 3])
        for (number, title) in titles.enumerated() {
            table.add([
                Table.Cell(text: number == 0 ? "high" : ""), Table.Cell(text: title, tail: "+tag\(number) +more"),
                Table.Cell(text: "2026-11-2\(number)"), Table.Cell(text: number == 1 ? "📎2" : ""),
            ])
        }
        return table
    }

    @Test(arguments: [24, 30, 40, 60, 80, 120])
    func `rows fit the width, and only the flexible text is shortened`(width: Int) {
        let lines = table([String(repeating: "long ", count: 40), "会議の資料を準備する会議の資料を準備する", "short"])
            .lines(Table.Format(width: width)) { $1 }
        #expect(lines.count == 3)
        for (number, line) in lines.enumerated() {
            #expect(line.columns <= width, "\(line)")
            #expect(line.contains("2026-11-2\(number)"), "\(line)")
            if width >= 60 { #expect(line.contains("+tag\(number) +more"), "\(line)") }
        }
        let columns = lines.map { line in line.firstRange(of: "2026-").map { line[..<$0.lowerBound].columns } }
        #expect(Set(columns).count == 1, "\(lines)")
    }

    @Test func `what stands behind text of uncertain width is placed by its column`() {
        let lines = table(["👨‍👩‍👧 trip", "plain"]).lines(Table.Format(width: 80, usesControls: true)) { $1 }
        #expect(lines[0].contains("trip\u{1B}[16G+tag0"), "\(lines)")
        #expect(!lines[1].contains("\u{1B}"), "\(lines)")
    }

    @Test func `text from right to left is isolated where controls are used, and nowhere else`() {
        let table = table(["לקנות חלב", "plain"])
        #expect(
            table.lines(Table.Format(width: 80, usesControls: true)) { $1 }[0].contains("\u{2068}לקנות חלב\u{2069}"))
        #expect(!table.lines(Table.Format(width: 80)) { $1 }[0].unicodeScalars.contains("\u{2068}"))
        #expect("plain".isolated == "plain" && "abc 会議".isolated == "abc 会議")
    }

    @Test func `transfers fit the width, and say the rate and the time left`() {
        var running = TransferSummary(
            id: "0123456789", direction: .upload, state: .running, taskID: "t", name: "a photograph of the harbor.jpg",
            bytesDone: 50 << 20, bytesTotal: 100 << 20, rate: Double(10 << 20))
        let waiting = TransferSummary(
            id: "x", direction: .download, state: .waiting, taskID: "t", name: "b.txt", bytesTotal: 3,
            reason: "The server cannot be reached, and is asked again in a minute")
        for width in [40, 60, 80, 120] {
            let lines = TransferLines([running, waiting], showsID: true).lines(Table.Format(width: width))
            #expect(lines.allSatisfy { $0.columns <= width } && lines[0].contains("50%"), "\(lines)")
            #expect(width < 80 || lines[0].contains("10.0 MiB/s, 5.0 s left"), "\(lines)")
        }
        running.rate = nil
        #expect(!TransferLines.line(running).contains("left"))
    }
}
