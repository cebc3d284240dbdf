import TaskModel
import Testing

@Suite struct TaskFileNameTests {
    @Test(arguments: [
        "Buy milk", "Call Dr.", "a: b?", "émigré 🛒", "notes.md", "X.files", "👨‍👩‍👧 outing", "100% \\o", "milk ", " milk",
        " ",
        "milk.", "x...",
    ])
    func `a name carries an ordinary title`(title: String) {
        let found = TaskFileName.file(for: title)
        #expect(found == TaskFileName.file(for: TaskFileName.title(of: found.name)))
        #expect(found.name == title + ".md")
        #expect(found.carriesTitle)
        #expect(TaskFileName.title(of: found.name) == title)
    }

    @Test(arguments: [
        ("AC/DC tickets", "AC-DC tickets.md"), ("../../etc/passwd", "-..-etc-passwd.md"), ("..", "Untitled.md"),
        ("", "Untitled.md"), (".hidden", "hidden.md"), ("a\u{0}b", "a b.md"), ("two\r\nlines", "two lines.md"),
        (" two\nlines ", "two lines.md"), ("\u{202E}gpj.exe", "gpj.exe.md"), ("/", "-.md"),
        ("\u{1B}[31mred", "[31mred.md"),
        (". .", "Untitled.md"),
    ])
    func `characters that a name cannot contain are replaced`(title: String, name: String) {
        let found = TaskFileName.file(for: title)
        #expect(found.name == name)
        #expect(!found.carriesTitle)
    }

    @Test func `long titles are cut between characters`() {
        let found = TaskFileName.file(for: String(repeating: "🛒", count: 300))
        #expect(found.name == String(repeating: "🛒", count: 62) + ".md")
        #expect(!found.carriesTitle)
        #expect(TaskFileName.file(for: String(repeating: "a", count: 252)).carriesTitle)
        #expect(!TaskFileName.file(for: String(repeating: "a", count: 253)).carriesTitle)
        let zalgo = TaskFileName.file(for: "a" + String(repeating: "\u{301}", count: 500))
        #expect(zalgo.name == "Untitled.md")
    }

    @Test func `a name with a number leaves the title to the front matter`() {
        let found = TaskFileName.file(for: "A", number: 3)
        #expect(found.name == "A (3).md")
        #expect(!found.carriesTitle)
        let long = String(repeating: "a", count: 249)
        let other = TaskFileName.file(for: long, number: 2)
        #expect(other.name.utf8.count == 252)
        #expect(other.name.hasSuffix(" (2).md"))
    }

    @Test func `names that differ at their ends stay different`() {
        for number in 1...2 {
            let names = ["foo", "foo ", " foo", "foo.", "foo.."].map { TaskFileName.file(for: $0, number: number).name }
            #expect(Set(names.map { Array($0.utf8) }).count == names.count)
            let folders = ["Work", "Work ", " Work", "Work."].map { TaskFileName.folder(for: $0, number: number).name }
            #expect(Set(folders.map { Array($0.utf8) }).count == folders.count)
        }
    }

    @Test func `attachments keep their names, and what is cut keeps its ending`() {
        let long = String(repeating: "p", count: 251)
        for name in ["x", "x ", "x.", " x", "y. .txt", "z\u{3000}", "x.files", long + ".pdf"] {
            #expect(TaskFileName.attachment(for: name).utf8.elementsEqual(name.utf8))
        }
        #expect(TaskFileName.attachment(for: "a.tar.gz", number: 2) == "a.tar (2).gz")
        #expect(TaskFileName.attachment(for: "a", number: 2) == "a (2)")
        #expect(TaskFileName.attachment(for: ".a", number: 2) == "a (2)")
        let numbered = TaskFileName.attachment(for: long + ".pdf", number: 12)
        #expect(numbered.hasSuffix("pp (12).pdf") && numbered.utf8.count == 255)
        let cut = TaskFileName.attachment(for: long + "pppp.pdf")
        #expect(cut.hasSuffix("pp.pdf") && cut.utf8.count == 255)
        #expect(TaskFileName.attachment(for: "../\u{202E}fdp.exe") == "- fdp.exe")
    }

    @Test func `the directory of a list is never named like an attachment folder`() {
        #expect(TaskFileName.folder(for: "Work").name == "Work")
        #expect(TaskFileName.folder(for: "Work").carriesTitle)
        #expect(TaskFileName.folder(for: "x.Files").name == "x-files")
        #expect(TaskFileName.folder(for: ".ferry").name == "ferry")
        #expect(TaskFileName.folder(for: "etc...").name == "etc...")
        #expect(TaskFileName.folder(for: "a/b").carriesTitle == false)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `no title becomes a path, a hidden name or too long a name`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet: [Unicode.Scalar] =
            Array("ab./\\ \u{0}\n\r\u{301}\u{202E}\u{FEFF}é🛒~#-".unicodeScalars) + ["\u{85}", "\u{FFFF}"]
        for _ in 0..<2000 {
            var view = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...(Bool.random(using: &random) ? 6 : 300), using: &random) {
                view.append(alphabet.randomElement(using: &random) ?? "a")
            }
            let title = String(view)
            for found in [TaskFileName.file(for: title), TaskFileName.folder(for: title)] {
                let bytes = Array(found.name.utf8)
                #expect((1...255).contains(bytes.count))
                #expect(!bytes.contains(UInt8(ascii: "/")) && !bytes.contains { $0 < 0x20 })
                #expect(bytes.first != UInt8(ascii: "."))
            }
            let file = TaskFileName.file(for: title)
            #expect(
                TaskFileName.title(of: file.name).utf8.elementsEqual(title.utf8) == file.carriesTitle, "seed \(seed)")
        }
    }
}
