import TaskModel

/// Decides for a batch of files at once to which tasks they belong.
package struct Identification {
    /// The time within which a file at the path of a deleted one continues that one's task.
    package static let returnLimit: Duration = .seconds(300)

    private let batch: ObservationBatch
    private let observed: [Location: Int]
    private let knownByPlace: [Location: Int]
    private let knownByFile: [Stamp.File: [Int]]
    private let knownByTask: [TaskID: Int]
    private let unfiledByPlace: [Location: [Int]]
    private let unfiledByTask: [TaskID: Int]
    private var result = Identities()
    private var matchedTasks = Set<TaskID>()
    /// The positions of files that are not matched yet, in the order of their locations.
    private var open: [Int]

    private init(_ batch: ObservationBatch) {
        self.batch = batch
        observed = Dictionary(
            batch.observations.enumerated().map { ($1.location, $0) }, uniquingKeysWith: { first, _ in first })
        open = observed.values.sorted { batch.observations[$0].location < batch.observations[$1].location }
        knownByPlace = Dictionary(batch.known.enumerated().map { ($1.location, $0) }, uniquingKeysWith: { a, _ in a })
        knownByFile = Dictionary(grouping: batch.known.indices, by: { batch.known[$0].stamp.file })
        knownByTask = Dictionary(batch.known.enumerated().map { ($1.task, $0) }, uniquingKeysWith: { a, _ in a })
        unfiledByPlace = Dictionary(grouping: batch.unfiled.indices, by: { batch.unfiled[$0].location })
        unfiledByTask = Dictionary(batch.unfiled.enumerated().map { ($1.task, $0) }, uniquingKeysWith: { a, _ in a })
    }

    /// Returns the task of each file. The order of the observations does not matter.
    package static func identify(_ batch: ObservationBatch) -> Identities {
        var identification = Identification(batch)
        for evidence in Evidence.allCases { identification.match(by: evidence) }
        identification.finish()
        return identification.result
    }

    // MARK: Matching

    private mutating func match(by evidence: Evidence) {
        var missing = evidence == .contents || evidence == .nameAndLine ? MissingFiles(self) : nil
        var left: [Int] = []
        for index in open {
            let file = batch.observations[index]
            if let task = candidate(for: file, by: evidence, &missing) {
                matchedTasks.insert(task)
                result.files[file.location] = .known(task, evidence)
            } else if result.files[file.location] == nil {
                left.append(index)
            }
        }
        open = left
    }

    /// Returns the task that has the evidence for a file, if it is free. If that cannot be told, the
    /// file's result becomes `.lookAgain`.
    private mutating func candidate(
        for file: Observation, by evidence: Evidence, _ missing: inout MissingFiles?
    ) -> TaskID? {
        switch evidence {
        case .sameVersion, .sameFileInPlace, .place:
            guard let known = knownByPlace[file.location].map({ batch.known[$0] }), isFree(known.task) else {
                return nil
            }
            return Self.holds(evidence, file, known) ? known.task : nil
        case .markedFile, .unchangedFile, .fileNumber:
            if evidence == .fileNumber, batch.keepsMarks { return nil }
            for index in knownByFile[file.stamp.file] ?? [] {
                let known = batch.known[index]
                guard isFree(known.task), Self.holds(evidence, file, known) else { continue }
                return free(known, for: file, evidence)
            }
            return nil
        case .mark:
            guard let mark = file.mark, isFree(mark) else { return nil }
            if let known = knownByTask[mark] { return free(batch.known[known], for: file, evidence) }
            return unfiledByTask[mark] == nil ? nil : mark
        case .returned, .document: return unfiled(at: file, by: evidence)
        case .contents, .nameAndLine:
            switch missing?.take(for: file, by: evidence, where: { isFree($0) }) {
            case .task(let task): return task
            case .unobserved(let location):
                result.files[file.location] = .lookAgain([location])
                return nil
            case nil: return nil
            }
        }
    }

    /// Whether a file and a known one have the facts of an evidence that compares them alone.
    private static func holds(_ evidence: Evidence, _ file: Observation, _ known: KnownFile) -> Bool {
        let namesNoOther = file.mark == nil || file.mark == known.task
        return switch evidence {
        case .sameVersion: file.stamp == known.stamp
        case .sameFileInPlace: file.stamp.file == known.stamp.file && namesNoOther
        case .markedFile: file.mark == known.task
        case .unchangedFile: file.stamp.hasContents(of: known.stamp) && namesNoOther
        case .fileNumber: true
        case .place: true
        case .mark, .returned, .contents, .nameAndLine, .document: false
        }
    }

    private func isFree(_ task: TaskID) -> Bool { !matchedTasks.contains(task) }

    /// Returns a task if its file has left its known place.
    private mutating func free(_ known: KnownFile, for file: Observation, _ evidence: Evidence) -> TaskID? {
        switch whereabouts(of: known) {
        case .vacated: return known.task
        case .inPlace:
            // What is there can be a copy with the attribute. The file itself is where its number is.
            let there = observed[known.location].map { batch.observations[$0].stamp.file }
            return evidence.standsWithoutLook && there != known.stamp.file ? known.task : nil
        case .unreachable where evidence.standsWithoutLook: return known.task
        case .unreachable, .unobserved:
            result.files[file.location] = .lookAgain([known.location])
            return nil
        }
    }

    private mutating func unfiled(at file: Observation, by evidence: Evidence) -> TaskID? {
        for index in unfiledByPlace[file.location] ?? [] {
            let document = batch.unfiled[index]
            guard isFree(document.task) else { continue }
            if evidence == .document {
                if document.digest == file.digest { return document.task }
            } else if let time = document.deletedFor, time < Self.returnLimit {
                return document.task
            }
        }
        return nil
    }

    // MARK: Places

    /// The knowledge of a known file's place.
    fileprivate enum Whereabouts {
        case vacated
        case inPlace
        case unreachable
        case unobserved
    }

    fileprivate func whereabouts(of known: KnownFile) -> Whereabouts {
        if batch.vacant.contains(known.location) { return .vacated }
        if batch.unreachable.contains(known.location) { return .unreachable }
        guard let there = observed[known.location].map({ batch.observations[$0] }) else { return .unobserved }
        if there.stamp.file == known.stamp.file || there.mark == known.task { return .inPlace }
        if there.mark != nil { return .vacated }
        // A file without a mark is the known one's next version if it has a line of it.
        return known.lines.isEmpty || !known.lines.isDisjoint(with: there.lines) ? .inPlace : .vacated
    }

    /// The known files that were not found, by what identifies them.
    private struct MissingFiles {
        private var byDigest: [ContentDigest: [Candidate]] = [:]
        private var byName: [FileName: [Candidate]] = [:]

        enum Answer {
            case task(TaskID)
            case unobserved(Location)
        }

        private struct Candidate {
            let known: KnownFile
            let isObserved: Bool
        }

        init(_ identification: Identification) {
            for known in identification.batch.known.sorted(by: { $0.location > $1.location })
            where identification.isFree(known.task) {
                let isObserved: Bool
                switch identification.whereabouts(of: known) {
                case .vacated: isObserved = true
                case .unobserved: isObserved = false
                case .inPlace, .unreachable: continue
                }
                // An empty file says nothing that could identify it.
                if known.stamp.size > 0 {
                    byDigest[known.digest, default: []].append(Candidate(known: known, isObserved: isObserved))
                }
                byName[known.location.fileName, default: []].append(Candidate(known: known, isObserved: isObserved))
            }
        }

        /// Takes the missing file that a file continues. One that was not looked for is looked for first.
        mutating func take(for file: Observation, by evidence: Evidence, where isFree: (TaskID) -> Bool) -> Answer? {
            if evidence == .contents {
                while let candidate = byDigest[file.digest]?.last {
                    if !candidate.isObserved { return .unobserved(candidate.known.location) }
                    byDigest[file.digest]?.removeLast()
                    if isFree(candidate.known.task) { return .task(candidate.known.task) }
                }
                return nil
            }
            let namesakes = (byName[file.location.fileName] ?? []).filter { isFree($0.known.task) }
            guard namesakes.count == 1, let candidate = namesakes.first,
                !candidate.known.lines.isDisjoint(with: file.lines)
            else { return nil }
            return candidate.isObserved ? .task(candidate.known.task) : .unobserved(candidate.known.location)
        }
    }

    // MARK: Newborns

    /// Decides about the files that no evidence explains, and for the tasks whose files are gone.
    private mutating func finish() {
        for index in open {
            let file = batch.observations[index]
            guard let mark = file.mark, !batch.isServerCurrent, knownByTask[mark] == nil, unfiledByTask[mark] == nil
            else {
                result.files[file.location] = .new
                continue
            }
            result.files[file.location] = .awaitsDocument(mark)
        }
        for known in batch.known where isFree(known.task) && !isAwaited(known.location) {
            if case .vacated = whereabouts(of: known) { result.missing.insert(known.task) }
        }
        returnReplaced()
        continueCopied()
        if batch.isHiding { result.missing = [] }
    }

    /// Whether the file at a place cannot be identified yet.
    private func isAwaited(_ location: Location) -> Bool {
        if case .lookAgain = result.files[location] { true } else { false }
    }

    private func isNewborn(_ task: TaskID, after other: TaskID) -> Bool {
        guard let newborn = batch.newborns[task], newborn.age < Newborn.limit else { return false }
        return batch.newborns[other].map { $0.age > newborn.age } ?? true
    }

    /// A file that was saved under a new name and then renamed over a task's file is that task's new
    /// version, although it was a task of its own for a moment.
    private mutating func returnReplaced() {
        for task in result.missing.sorted() {
            guard let known = knownByTask[task].map({ batch.known[$0] }),
                case .known(let other, _) = result.files[known.location], isNewborn(other, after: task)
            else { continue }
            result.files[known.location] = .known(task, .place)
            result.missing.remove(task)
            result.dissolved[other] = task
        }
    }

    /// A copy that was made just before its original was removed is the original, moved.
    private mutating func continueCopied() {
        guard !batch.newborns.isEmpty, !result.missing.isEmpty else { return }
        let newborns = batch.known.filter {
            batch.newborns[$0.task] != nil && $0.stamp.size > 0 && result.dissolved[$0.task] == nil
                && !result.missing.contains($0.task)
        }
        let byDigest = Dictionary(grouping: newborns, by: \.digest)
        for task in result.missing.sorted() {
            guard let known = knownByTask[task].map({ batch.known[$0] }) else { continue }
            let copies = (byDigest[known.digest] ?? []).filter {
                isNewborn($0.task, after: task) && result.dissolved[$0.task] == nil
            }
            guard copies.count == 1, let copy = copies.first else { continue }
            let place = result.files.first { $0.value.task == copy.task }?.key ?? copy.location
            result.files[place] = .known(task, .contents)
            result.missing.remove(task)
            result.dissolved[copy.task] = task
        }
    }
}

extension Identity {
    /// The known task; `nil` for other answers.
    var task: TaskID? {
        if case .known(let task, _) = self { task } else { nil }
    }
}
