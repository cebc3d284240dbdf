import Control
import JSON
import Testing

@testable import FerryCLI

@Suite struct ImportBatchTests {
    private func entry(_ name: String, notes: String = "") -> ImportBatch.Entry {
        var change = TaskChange(title: name, notes: notes)
        change.importKey = name
        return ImportBatch.Entry(name: name, finding: .new(change))
    }

    /// Puts entries into batches as an import does.
    private func batches(_ entries: [ImportBatch.Entry]) -> [ImportBatch] {
        var batches = [ImportBatch()]
        for entry in entries where !batches[batches.count - 1].append(entry) {
            batches.append(ImportBatch())
            let isTaken = batches[batches.count - 1].append(entry)
            #expect(isTaken)
        }
        return batches
    }

    @Test func `a batch has as many tasks as a call may have, and any number of other records`() {
        var entries = (0..<1001).map { entry("\($0)") }
        entries.insert(ImportBatch.Entry(name: "bad", finding: .leftOut("It has no title.")), at: 1)
        entries.insert(ImportBatch.Entry(name: "old", finding: .alreadyThere(nil)), at: 501)
        let batches = batches(entries)
        #expect(batches.map(\.changes.count) == [500, 500, 1])
        #expect(batches.map(\.entries.count) == [502, 500, 1])
        #expect(batches.flatMap(\.entries).map(\.name) == entries.map(\.name))
        #expect(batches.flatMap(\.changes).compactMap(\.title) == (0..<1001).map(String.init))
    }

    @Test func `the request of a batch is not larger than a body may be`() {
        // Each of these characters takes six bytes in JSON.
        let notes = String(repeating: "\u{1}", count: 100_000)
        let batches = batches((0..<20).map { entry("\($0)", notes: notes) })
        #expect(batches.count > 2 && batches.map(\.changes.count).reduce(0, +) == 20)
        for batch in batches {
            let body: JSON = ["tasks": batch.changes.json]
            #expect(body.bytes.count <= ControlLimit.bodyBytes)
        }
    }

    @Test func `a record that is too large for any call is alone in its batch`() {
        let large = entry("large", notes: String(repeating: "x", count: ControlLimit.bodyBytes))
        #expect(batches([entry("a"), large, entry("b")]).map(\.changes.count) == [1, 1, 1])
    }
}
