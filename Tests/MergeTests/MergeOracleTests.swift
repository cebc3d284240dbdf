import Foundation
import Merge
import Testing

/// Compares with other implementations of three-way merges on generated texts.
@Suite struct MergeOracleTests {
    private struct Answer {
        var status: Int
        var text: String
    }

    /// Runs `command` once for each triple, in directories with the files `base`, `mine` and
    /// `theirs`. Returns the outputs.
    private func answers(_ triples: [(base: String, mine: String, theirs: String)], _ command: String) throws
        -> [Answer]
    {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-merge-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (number, triple) in triples.enumerated() {
            let folder = root.appendingPathComponent("\(number)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, text) in [("base", triple.base), ("mine", triple.mine), ("theirs", triple.theirs)] {
                try Data(text.utf8).write(to: folder.appendingPathComponent(name))
            }
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "for d in */; do (cd $d && \(command) >out 2>/dev/null; echo $? >status); done"]
        process.currentDirectoryURL = root
        try process.run()
        process.waitUntilExit()
        return try triples.indices.map { number in
            let folder = root.appendingPathComponent("\(number)")
            let status = try String(contentsOf: folder.appendingPathComponent("status"), encoding: .utf8)
            let out = try Data(contentsOf: folder.appendingPathComponent("out"))
            return Answer(status: Int(status.dropLast()) ?? -1, text: String(decoding: out, as: UTF8.self))
        }
    }

    private static func triples(_ seeds: some Sequence<UInt64>, each count: Int) -> [(
        base: String, mine: String, theirs: String
    )] {
        seeds.flatMap { seed -> [(base: String, mine: String, theirs: String)] in
            var texts = GeneratedTexts(seed: seed)
            return (0..<count).map { _ in texts.triple() }
        }
    }

    @Test func `a merge is that of git merge-file, conflict for conflict`() throws {
        let triples = Self.triples(100..<108, each: 40)
        let answers = try answers(triples, "git merge-file -p mine base theirs")
        var clean = 0
        for (triple, answer) in zip(triples, answers) {
            let found = TextMerge(base: triple.base, mine: triple.mine, theirs: triple.theirs)
            let story = "\(triple)"
            #expect(found.hasConflict == (answer.status != 0), "\(story)")
            guard answer.status == 0, !found.hasConflict else { continue }
            clean += 1
            #expect(found.text == answer.text, "\(story)")
        }
        #expect(clean > triples.count / 4, "too few merges without conflict to tell anything")
    }

    @Test func `where diff3 finds no conflict its merge is ours`() throws {
        // With many repeated lines diff3 sometimes finds a change in another place than git does;
        // these seeds repeat few lines.
        let triples = Self.triples([200, 204, 208], each: 50).filter { $0.base != $0.mine && $0.base != $0.theirs }
        let answers = try answers(triples, "diff3 -m mine base theirs")
        try #require(!answers.allSatisfy { $0.status == 127 }, "diff3 of diffutils is missing")
        var clean = 0
        for (triple, answer) in zip(triples, answers) where answer.status == 0 {
            let found = TextMerge(base: triple.base, mine: triple.mine, theirs: triple.theirs)
            guard !found.hasConflict else { continue }
            clean += 1
            #expect(found.text == answer.text, "\(triple)")
        }
        #expect(clean > triples.count / 8, "too few merges without conflict to tell anything")
    }
}
