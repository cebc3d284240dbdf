import DocumentModel
import TaskModel
import Testing

/// Tests the laws of parsing and editing task files on generated files.
@Suite struct FrontMatterPropertyTests {
    private static let seeds: Range<UInt64> = 0..<6

    private func files(
        _ seed: UInt64, count: Int = 100, _ body: (GeneratedFile, TaskFile, inout SeededGenerator) throws -> Void
    ) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<count {
            let generated = GeneratedFile(&random)
            do {
                try body(generated, try TaskFile(parsing: Array(generated.text.utf8), named: "Name.md"), &random)
            } catch {
                Issue.record("seed \(seed): \(error) in \(generated.text.debugDescription)")
            }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `reading and writing back without a change gives identical bytes`(seed: UInt64) {
        files(seed, count: 500) { generated, file, _ in
            #expect(file.bytes == Array(generated.text.utf8))
            let same = try file.updated(to: file.item)
            #expect(same.bytes == file.bytes, "seed \(seed): \(generated.text.debugDescription)")
            let travelled = try file.updated(to: TaskItem(fields: file.item.documentFields))
            #expect(travelled.bytes == file.bytes, "seed \(seed): \(generated.text.debugDescription)")
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `a head and the notes of a document are the file's bytes`(seed: UInt64) {
        files(seed &+ 500, count: 300) { generated, file, _ in
            let notes = TaskItem(fields: file.item.documentFields).notes
            let there = Array(file.head) + Array(notes.utf8)
            #expect(there == file.bytes, "seed \(seed): \(generated.text.debugDescription)")
            let item = try TaskFile(parsing: there, named: "Name.md").item
            #expect(item == file.item)
        }
    }

    @Test(arguments: seeds)
    func `a task written to a new file has the same meaning`(seed: UInt64) {
        files(seed) { generated, file, _ in
            let item = TaskItem(fields: file.item.documentFields)
            #expect(item == file.item, "seed \(seed): \(generated.text.debugDescription)")
            let there = try TaskFile.make(for: item, named: "Other.md", writesTitle: true)
            #expect(there.item == file.item, "seed \(seed): \(generated.text.debugDescription)")
        }
    }

    @Test(arguments: seeds)
    func `one change touches only the lines of its key`(seed: UInt64) {
        files(seed) { generated, file, random in
            let (key, item) = change(file.item, &random)
            let result = try file.updated(to: item, writesTitle: key == "title")
            #expect(result.item == item, "seed \(seed): \(key) in \(generated.text.debugDescription)")
            // Everything outside the lines of the key is unchanged and in order.
            let text = String(decoding: result.bytes, as: UTF8.self)
            var rest = text[...]
            for piece in pieces(of: generated.text, without: key, blocks: generated.blocks) {
                guard let found = rest.firstRange(of: piece) else {
                    Issue.record(
                        "seed \(seed): a change of \(key) lost \(piece.debugDescription): \(generated.text.debugDescription) became \(text.debugDescription)"
                    )
                    break
                }
                rest = rest[found.upperBound...]
            }
            // The reverse edit restores the file.
            let back = try result.updated(to: file.item)
            #expect(back.item.documentFields == file.item.documentFields || key == "title", "seed \(seed)")
        }
    }

    @Test(arguments: seeds)
    func `any number of changes at once reads back as wanted`(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 1000)
        var other = TaskItem(title: "Name")
        files(seed) { generated, file, _ in
            // Turns each file into the task of the previous one.
            other.title = file.item.title
            let result = try file.updated(to: other)
            #expect(result.item == other, "seed \(seed): \(generated.text.debugDescription)")
            other = file.item
            for _ in 0..<Int.random(in: 0...3, using: &random) { other = change(other, &random).1 }
        }
    }

    private func change(_ old: TaskItem, _ random: inout SeededGenerator) -> (String, TaskItem) {
        var item = old
        let words = ["x", "no", "a: b", "#c", "two words", "\"q\"", "é", "2026-01-01", "-", "line\nbreak"]
        let word = words[Int.random(in: words.indices, using: &random)]
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            item.title = word
            return ("title", item)
        case 1:
            let choices: [Priority?] = [.high, .medium, .low, nil]
            item.priority = choices[Int.random(in: 0..<4, using: &random)]
            item.fields["priority"] = nil
            return ("priority", item)
        case 2:
            item.due =
                [Due(parsing: "2030-01-01T10:00+02:00"), Due(parsing: "2030-01-01"), nil][
                    Int.random(in: 0..<3, using: &random)]
            item.fields["due"] = nil
            return ("due", item)
        case 3:
            item.tags = item.tags.filter { _ in Bool.random(using: &random) }
            if Bool.random(using: &random) { item.tags.append("new \(word)") }
            if Int.random(in: 0..<5, using: &random) == 0 { item.tags.shuffle(using: &random) }
            item.fields["tags"] = nil
            return ("tags", item)
        case 4:
            item.completed.toggle()
            item.fields["completed"] = nil
            return ("completed", item)
        case 5:
            item.notes = item.notes.isEmpty ? "---\n\(word)" : item.notes + word
            return ("notes", item)
        default:
            let values: [Value?] = [
                .string(word), .integer(7), .null, nil, .array([.string(word), .map(["k": .string(word)])]),
                .map([word: .array([.boolean(true), .array([.double(0.5)])])]), .map(["$yaml": .string("'kept' ")]),
                .map(["$yaml": .string("[a, {b: 'c'}]")]),
                .map(["$yaml": .string("|\n  t\n\n   u")]),
            ]
            let keys = item.fields.keys.filter { $0.hasPrefix("custom") }.sorted() + ["brand new"]
            let key = keys[Int.random(in: keys.indices, using: &random)]
            var value = values[Int.random(in: values.indices, using: &random)]
            // A text that is not a single value is returned in the form in which it is written.
            if case .map(["$yaml": .string("'kept' ")])? = value { value = .map(["$yaml": .string("'kept'")]) }
            item.fields[key] = value
            return (key, item)
        }
    }

    /// Returns the parts of a file before and after the lines that a change of `key` may affect.
    private func pieces(of text: String, without key: String, blocks: [(key: String, lines: String)]) -> [String] {
        guard let block = blocks.first(where: { $0.key == key }), let range = text.firstRange(of: block.lines) else {
            return blocks.map(\.lines)
        }
        return [String(text[..<range.lowerBound])] + (key == "notes" ? [] : [String(text[range.upperBound...])])
    }
}
