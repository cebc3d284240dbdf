package import TaskModel

/// A directory of tasks that was looked at.
package struct ObservedDirectory: Hashable, Sendable {
    /// The names from the tasks directory on.
    package var path: [FileName]
    /// The directory's number, or that of the mark in it; `nil` if it is not known.
    package var file: Stamp.File?
    /// The numbers of the task files directly in it.
    package var files: Set<Stamp.File>

    package init(_ path: [FileName], file: Stamp.File? = nil, files: Set<Stamp.File> = []) {
        self.path = path
        self.file = file
        self.files = files
    }
}

/// The directory of a list, as it was last seen.
package struct KnownDirectory: Hashable, Sendable {
    package var list: ListID
    package var path: [FileName]
    package var file: Stamp.File?
    package var files: Set<Stamp.File>

    package init(_ list: ListID, at path: [FileName], file: Stamp.File? = nil, files: Set<Stamp.File> = []) {
        self.list = list
        self.path = path
        self.file = file
        self.files = files
    }
}

/// All directories of a tree, and the lists that are known.
package struct DirectoryBatch: Sendable {
    package var observations: [ObservedDirectory]
    package var known: [KnownDirectory]
    /// Directories that could not be listed. Nothing below them is known.
    package var unreachable: Set<[FileName]>
    /// Whether missing directories may have moved into one that cannot be listed, or are such ones
    /// under new names. None counts as gone then.
    package var isHiding: Bool
    /// The paths that documents of lists without a directory ask for.
    package var unfiled: [ListID: [FileName]]

    package init(
        _ observations: [ObservedDirectory], known: [KnownDirectory], unreachable: Set<[FileName]> = [],
        isHiding: Bool = false, unfiled: [ListID: [FileName]] = [:]
    ) {
        self.observations = observations
        self.known = known
        self.unreachable = unreachable
        self.isHiding = isHiding
        self.unfiled = unfiled
    }
}

/// The evidence that a directory is that of a known list, strongest first.
package enum DirectoryEvidence: Int, Hashable, Sendable, CaseIterable {
    case sameDirectory
    case movedDirectory
    case place
    case files
    case document

    /// The observed facts.
    package var facts: String {
        switch self {
        case .sameDirectory: "The known path, with the known number."
        case .movedDirectory: "The known number."
        case .place: "The known name in the directory of the same list."
        case .files: "More than half of the task files that are left of a list whose directory is gone."
        case .document: "The path of a document that has no directory here."
        }
    }

    /// The situation that leaves this evidence.
    package var situation: String {
        switch self {
        case .sameDirectory: "Nothing happened."
        case .movedDirectory: "The directory was renamed, or two swapped their names."
        case .place: "`git switch` removed the directory and made it again; one above it was renamed."
        case .files: "The directory was renamed, and its number was never recorded."
        case .document: "The state was lost, or two machines made the same directory."
        }
    }

    /// The table in Markdown, as it stands in `Sources/Documentation/reconciliation.md`.
    package static var markdown: String {
        let rows = allCases.map { "| \($0.rawValue + 1) | `\($0)` | \($0.facts) | \($0.situation) |" }
        return (["| | evidence | facts | for example |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}

/// The lists of the directories of a batch.
package struct DirectoryIdentities: Hashable, Sendable {
    /// The list of each directory and its evidence. A directory without one is a new list.
    package var lists: [[FileName]: ListID] = [:]
    package var evidence: [[FileName]: DirectoryEvidence] = [:]
    /// The known lists whose directories are gone.
    package var missing: Set<ListID> = []

    package init() {}
}

/// Decides for all directories at once which lists they are.
package struct DirectoryIdentification {
    private let batch: DirectoryBatch
    private let paths: Set<[FileName]>
    private let files: Set<Stamp.File>
    private let knownByPath: [[FileName]: KnownDirectory]
    private let knownByFile: [Stamp.File: KnownDirectory]
    private var result = DirectoryIdentities()
    private var matched = Set<ListID>()

    private init(_ batch: DirectoryBatch) {
        self.batch = batch
        paths = Set(batch.observations.map(\.path))
        files = batch.observations.reduce(into: []) { $0.formUnion($1.files) }
        let known = batch.known.sorted { $0.list < $1.list }
        knownByPath = Dictionary(known.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        knownByFile = Dictionary(
            known.compactMap { entry in entry.file.map { ($0, entry) } }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the list of each directory. The order of the observations does not matter.
    package static func identify(_ batch: DirectoryBatch) -> DirectoryIdentities {
        var identification = DirectoryIdentification(batch)
        let byDepth = Dictionary(grouping: batch.observations, by: \.path.count)
        let levels = byDepth.keys.sorted().map { depth in
            (byDepth[depth] ?? []).sorted { $0.path.lexicographicallyPrecedes($1.path) }
        }
        // A number is that of one directory, at whatever depth it is by now.
        for evidence in [DirectoryEvidence.sameDirectory, .movedDirectory] {
            for level in levels { identification.match(level, by: evidence) }
        }
        // The place of a directory depends on the list above it, which is decided before.
        for level in levels {
            for evidence in [DirectoryEvidence.place, .files, .document] { identification.match(level, by: evidence) }
        }
        identification.finish()
        return identification.result
    }

    private mutating func match(_ directories: [ObservedDirectory], by evidence: DirectoryEvidence) {
        for directory in directories where result.lists[directory.path] == nil {
            guard let list = candidate(for: directory, by: evidence), matched.insert(list).inserted else { continue }
            result.lists[directory.path] = list
            result.evidence[directory.path] = evidence
        }
    }

    private func candidate(for directory: ObservedDirectory, by evidence: DirectoryEvidence) -> ListID? {
        switch evidence {
        case .sameDirectory:
            return knownByPath[directory.path].flatMap { $0.file != nil && $0.file == directory.file ? $0.list : nil }
        case .movedDirectory: return directory.file.flatMap { knownByFile[$0]?.list }
        case .place: return knownByPath[formerPath(of: directory.path)]?.list
        case .files: return listOfFiles(in: directory)
        case .document:
            let lists = batch.unfiled.filter { $0.value == directory.path && !matched.contains($0.key) }
            return lists.keys.min()
        }
    }

    /// The path that a directory would have if those above it were still called as they were known.
    private func formerPath(of path: [FileName]) -> [FileName] {
        let parent = Array(path.dropLast())
        guard let above = result.lists[parent], let name = path.last,
            let known = batch.known.first(where: { $0.list == above })
        else { return path }
        return known.path + [name]
    }

    /// The list most of whose files that are left are in a directory, if its own directory is gone.
    private func listOfFiles(in directory: ObservedDirectory) -> ListID? {
        guard !directory.files.isEmpty else { return nil }
        let found = batch.known.filter { known in
            guard !matched.contains(known.list), !paths.contains(known.path), !isUnreachable(known.path) else {
                return false
            }
            return known.files.intersection(directory.files).count * 2 > known.files.intersection(files).count
        }
        return found.map(\.list).min()
    }

    private func isUnreachable(_ path: [FileName]) -> Bool {
        batch.unreachable.contains { path.starts(with: $0) }
    }

    private mutating func finish() {
        if batch.isHiding { return }
        for known in batch.known where !matched.contains(known.list) && !isUnreachable(known.path) {
            result.missing.insert(known.list)
        }
    }
}
