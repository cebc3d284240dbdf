import DocumentModel
import TaskModel
import Testing

/// Tests with malformed files and documents: nothing may trap, and what is written must parse.
@Suite struct HostileInputTests {
    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a damaged file is a problem or a task that can still be edited`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (read, refusedEdits) = (0, 0)
        for _ in 0..<150 {
            var bytes = Array(GeneratedFile(&random).text.utf8)
            let texts = [
                "\n", "---\n", ": ", "- ", "#", "'", "\"", "[", "{", "|+\n", "\r", "\t", "? ", "&a ", "*a", "<<: *a\n",
                "!!x ",
            ]
            let pieces = texts.map { Array($0.utf8) } + [[0xFF], [0], [0xEF, 0xBB, 0xBF]]
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(contentsOf: pieces[Int.random(in: pieces.indices, using: &random)], at: place)
                default: bytes.removeSubrange(place..<min(bytes.count, place + 5))
                }
            }
            guard let file = try? TaskFile(parsing: bytes, named: "Name.md") else { continue }
            read += 1
            #expect(file.bytes == bytes)
            var item = file.item
            item.priority = item.priority == .high ? .low : .high
            item.fields["priority"] = nil
            item.tags.append("added")
            item.fields["tags"] = nil
            item.notes += "end"
            do throws(TaskFileProblem) {
                let result = try file.updated(to: item)
                #expect(result.item == item, "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
            } catch {
                refusedEdits += 1
                #expect(error.code == .cannotEdit, "seed \(seed): \(error)")
            }
        }
        #expect(read > 30)
        #expect(refusedEdits * 20 < read, "\(refusedEdits) of \(read)")
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `any document becomes a file that reads back and is then stable`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            var fields: [String: Value] = [:]
            for key in [
                "title", "priority", "completed", "due", "dueHasTime", "tags", "notes", "fields", "attachments",
            ] {
                fields[key] = key == "fields" ? .map(Self.map(&random, depth: 0)) : Self.value(&random, depth: 0)
            }
            let item = TaskItem(fields: fields)
            let name = TaskFileName.file(for: item.title)
            let file = try TaskFile.make(for: item, named: name.name, writesTitle: !name.carriesTitle)
            let story = "seed \(seed): \(fields) became \(String(decoding: file.bytes, as: UTF8.self).debugDescription)"
            #expect(file.item.title.utf8.elementsEqual(item.title.utf8), "\(story)")
            #expect(file.item.priority == item.priority && file.item.due == item.due, "\(story)")
            #expect(file.item.tags == item.tags && file.item.notes == item.notes, "\(story)")
            #expect(try file.updated(to: item, writesTitle: !name.carriesTitle).bytes == file.bytes, "\(story)")
            #expect(TaskItem(fields: file.item.documentFields) == file.item, "\(story)")
        }
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        let alphabet: [Unicode.Scalar] = Array(
            "ab: -#'\"[]{}&*!|>%@`\\/.~0128TZ\n\r\té\u{0}\u{85}\u{2028}\u{FEFF}\u{301}🛒".unicodeScalars)
        let whole = [
            "high", "normal", "2026-01-01", "2026-01-01T10:00", "---\na: 1\n---\n", "true", "null", "", "x", "$yaml",
            "__a__",
        ]
        if Bool.random(using: &random) { return whole[Int.random(in: whole.indices, using: &random)] }
        var view = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            view.append(alphabet[Int.random(in: alphabet.indices, using: &random)])
        }
        return String(view)
    }

    private static func map(_ random: inout SeededGenerator, depth: Int) -> [String: Value] {
        var map: [String: Value] = [:]
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let known = ["priority", "due", "tags", "completed", "title"]
            let key =
                Int.random(in: 0..<4, using: &random) == 0
                ? known[Int.random(in: 0..<5, using: &random)] : text(&random)
            map[key] = value(&random, depth: depth + 1)
        }
        return map
    }

    private static func value(_ random: inout SeededGenerator, depth: Int) -> Value {
        switch Int.random(in: 0..<(depth > 3 ? 9 : 12), using: &random) {
        case 0: .null
        case 1: .boolean(Bool.random(using: &random))
        case 2: .integer(Int64.random(in: -3...3, using: &random))
        case 3: .double([0.5, -0.0, 1e300, .infinity, .nan, 3][Int.random(in: 0..<6, using: &random)])
        case 4:
            .timestamp(
                Timestamp(microseconds: Int64.random(in: -1_000_000_000_000...1_000_000_000_000_000, using: &random)))
        case 5: .bytes([0, 127, 255])
        case 6: .geoPoint(GeoPoint(latitude: 1.5, longitude: -2))
        case 7, 8: .string(text(&random))
        case 9: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(&random, depth: depth + 1) })
        case 10: .map(["$yaml": .string(text(&random))])
        default: .map(map(&random, depth: depth + 1))
        }
    }
}
