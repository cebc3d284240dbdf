import Reconciliation
import TaskModel

/// A directory in which a user renames, swaps, edits, copies, and removes files between two looks.
package struct IdentificationCase {
    private struct File {
        /// The task to which the file belongs; `nil` for a new one or a copy.
        var task: TaskID?
        var stamp: Stamp
        var mark: TaskID?
        var contents: UInt64
        var lines: Set<UInt64>
    }

    private var generator: SeededGenerator
    private var files: [Location: File] = [:]
    private var known: [KnownFile] = []
    private var number: UInt64 = 100

    private init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        for index in 0..<(2 + generator.below(5)) {
            let task = TaskID("T\(index)")
            let file = File(
                task: task, stamp: newStamp(), mark: task, contents: next(),
                lines: [number])
            files[location(index)] = file
            known.append(
                KnownFile(task, at: location(index), stamp: file.stamp, digest: digest(of: file), lines: file.lines))
        }
    }

    /// Plays a case, and returns the files whose tasks are not recognized.
    package static func misidentified(seed: UInt64) -> [String] {
        var played = IdentificationCase(seed: seed)
        var log: [String] = []
        for _ in 0..<(1 + played.generator.below(6)) { log.append(played.act()) }
        let result = Identification.identify(played.batch)
        var wrong: [String] = []
        for (location, file) in played.files.sorted(by: { $0.key < $1.key }) {
            let found: TaskID?
            if case .known(let task, _) = result.files[location] { found = task } else { found = nil }
            if found != file.task {
                wrong.append(
                    "\(location.fileName): \(found?.rawValue ?? "new") instead of \(file.task?.rawValue ?? "new")")
            }
        }
        let present = Set(played.files.values.compactMap(\.task))
        let missing = Set(played.known.map(\.task)).subtracting(present)
        if result.missing != missing {
            wrong.append("missing: \(result.missing.sorted()) instead of \(missing.sorted())")
        }
        return wrong.isEmpty ? [] : ["seed \(seed): " + (wrong + log).joined(separator: "; ")]
    }

    private var batch: ObservationBatch {
        let observations = files.map { location, file in
            Observation(
                at: location, stamp: file.stamp, mark: file.mark, digest: digest(of: file), lines: file.lines)
        }
        return ObservationBatch(
            generator.copyOfShuffled(observations), known: known,
            vacant: Set(known.map(\.location).filter { files[$0] == nil }))
    }

    // MARK: The user

    /// Does one thing, unless not even a user could say afterwards which file is which.
    private mutating func act() -> String {
        let places = files.keys.sorted()
        guard let place = places.randomElement(using: &generator), var file = files[place] else { return "nothing" }
        switch generator.below(6) {
        case 0, 1: return move(place, file)
        case 2:
            let other = generator.pick(places)
            guard isRecognizable(at: place), isRecognizable(at: other) else { return "nothing" }
            (files[place], files[other]) = (files[other], files[place])
            return "swaps \(place.fileName) and \(other.fileName)"
        case 3:
            // A file that is saved by a rename has no mark. It is recognized where it was known.
            let isInPlace = self.isInPlace(file, at: place)
            guard file.mark != nil || isInPlace else { return "nothing" }
            edit(&file, isReplaced: isInPlace && generator.chance(60))
            files[place] = file
            return "edits \(place.fileName)"
        case 4:
            guard let target = free() else { return "nothing" }
            file.task = nil
            file.stamp = newStamp()
            if generator.chance(50) { file.mark = nil }
            files[target] = file
            return "copies \(place.fileName) to \(target.fileName)"
        default:
            // The copy of a removed file is that file, moved.
            guard isInPlace(file, at: place), isOnly(file, at: place) else { return "nothing" }
            files[place] = nil
            return "removes \(place.fileName)"
        }
    }

    private func isInPlace(_ file: File, at place: Location) -> Bool {
        known.contains { $0.location == place && $0.task == file.task }
    }

    /// Whether no other file has a line of this one.
    private func isOnly(_ file: File, at place: Location) -> Bool {
        !files.contains { $0.key != place && !$0.value.lines.isDisjoint(with: file.lines) }
    }

    /// Whether a file can be recognized under another name.
    private func isRecognizable(at place: Location) -> Bool {
        guard let file = files[place] else { return false }
        return file.task == nil || file.mark != nil || known.contains { $0.stamp == file.stamp }
    }

    private mutating func move(_ place: Location, _ file: File) -> String {
        guard isRecognizable(at: place), let target = free() else { return "nothing" }
        files[place] = nil
        files[target] = file
        return "moves \(place.fileName) to \(target.fileName)"
    }

    private mutating func edit(_ file: inout File, isReplaced: Bool) {
        file.contents = next()
        file.lines.insert(number)
        let time = Stamp.Time(seconds: Int64(number), nanoseconds: 0)
        file.stamp.size = Int64(number)
        file.stamp.modified = time
        file.stamp.changed = time
        if isReplaced {
            file.stamp.file = newStamp().file
            file.mark = nil
        }
    }

    private mutating func next() -> UInt64 {
        number += 1
        return number
    }

    private mutating func newStamp() -> Stamp { TreeCase.stamp(Int(next())) }

    private func location(_ index: Int) -> Location { Location(nil, FileName("\(index).md")) }

    /// A path that no task was known to have: a new file at the path of a removed one would be its next version.
    private mutating func free() -> Location? {
        (8..<16).map { location($0) }.filter { files[$0] == nil }.randomElement(using: &generator)
    }

    private func digest(of file: File) -> ContentDigest { ContentDigest(file.contents, 0, 0, 0) }
}

extension SeededGenerator {
    fileprivate func copyOfShuffled<Element>(_ elements: [Element]) -> [Element] {
        var copy = self
        return elements.shuffled(using: &copy)
    }
}
