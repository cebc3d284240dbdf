import BucketStore
import DocumentStore
import SQLite
import SystemIO

/// Copies all data of a server, which may be running, to a new directory with the same layout, to
/// make a backup or to restore one.
///
/// The copy gets its name when it is complete, checked and on the disk. Documents are copied before
/// objects, so that no document refers to an object that is not in the copy.
package struct DataCopy {
    package let source: DataLayout
    package let target: DataLayout
    /// Whether attachments are stored here. Otherwise missing attachments are not a problem.
    package var keepsAttachments: Bool

    package init(source: DataLayout, target: DataLayout, keepsAttachments: Bool = true) {
        self.source = source
        self.target = target
        self.keepsAttachments = keepsAttachments
    }

    package struct Summary {
        package var databases = 0
        package var objects = 0
        package var bytes: Int64 = 0
        /// The damage in the copy, which the source has too.
        package var problems: [DataProblem] = []
    }

    /// The maximum number of rounds for objects that are replaced while they are copied.
    private static let rounds = 20

    /// Copies the data. Damaged documents and objects are copied unchanged and reported. If a whole
    /// file is damaged, no copy is left.
    ///
    /// - Throws: `ServerError`, for example if the target exists.
    package func run() throws -> Summary {
        guard FileSystem.exists("\(source.path)/documents") else {
            throw ServerError(.notFound, "\(source.path) has no server data.")
        }
        if FileSystem.exists(target.path) {
            guard try Directory(path: target.path).entries().isEmpty else {
                throw ServerError(.inUse, "\(target.path) exists and is not empty. Name a new directory.")
            }
        }
        let partial = DataLayout(path: "\(target.path).partial")
        try FileSystem.removeTree(partial.path)
        do {
            for part in ["documents", "accounts", "objects"] {
                try FileSystem.makeDirectories("\(partial.path)/\(part)", mode: 0o700)
            }
            var summary = try copy(to: partial)
            summary.problems = try DataCheck(
                layout: partial, readsObjects: false, keepsAttachments: keepsAttachments
            ).problems()
            let fatal = summary.problems.filter { !$0.isContained }
            guard fatal.isEmpty else {
                throw ServerError(
                    .damaged,
                    "The data is damaged: \(fatal.prefix(3).map(\.description).joined(separator: "; ")).")
            }
            try FileDescriptor(path: partial.path, [.read, .directory]).synchronizeFileSystem()
            try FileSystem.rename(partial.path, to: target.path)
            try Directory(path: FileSystem.split(target.path).parent).synchronize()
            return summary
        } catch {
            try? FileSystem.removeTree(partial.path)
            throw error
        }
    }

    private func copy(to partial: DataLayout) throws -> Summary {
        var summary = Summary()
        for name in try source.databases() where name != DataLayout.index {
            try copy(database: name, to: partial)
            summary.databases += 1
        }
        if let keys = try FileSystem.readIfPresent("\(source.path)/\(DataLayout.signingKeys)") {
            try FileSystem.replace("\(partial.path)/\(DataLayout.signingKeys)", with: keys, mode: 0o600)
        }
        guard FileSystem.exists("\(source.path)/\(DataLayout.index)") else { return summary }
        var copied = Set<String>()
        for _ in 0..<Self.rounds {
            try copy(database: DataLayout.index, to: partial)
            guard try copyObjects(to: partial, &copied, &summary) else { continue }
            summary.databases += 1
            return summary
        }
        throw ServerError(.failed, "Objects change faster than they can be copied. Try again at a quieter time.")
    }

    private func copy(database name: String, to partial: DataLayout) throws {
        let (original, copy) = ("\(source.path)/\(name)", "\(partial.path)/\(name)")
        // A copy gets a new lineage, so that no listener resumes from a time that the copy does not
        // know.
        if source.isOfDocuments(name) { return try DataLayout.documentFile(original).backUp(to: copy) }
        let database = try SQLiteDatabase(path: original)
        defer { database.close() }
        try database.backUp(to: copy)
    }

    /// Copies the files that the index in `partial` refers to and that are not copied yet. Returns
    /// false if one is gone because its object was replaced.
    private func copyObjects(to partial: DataLayout, _ copied: inout Set<String>, _ summary: inout Summary) throws
        -> Bool
    {
        var isComplete = true
        try DataLayout.forEachFile(in: "\(partial.path)/\(DataLayout.index)") { file, size, _, _ in
            guard !copied.contains(file) else { return }
            guard let place = ObjectPlace(file) else { throw ServerError(.damaged, "The index refers to \(file).") }
            do {
                switch place {
                case .file:
                    let input = try FileDescriptor(path: "\(source.objects)/\(place.path)", .read)
                    let path = "\(partial.objects)/\(place.path)"
                    try FileSystem.makeDirectories(FileSystem.split(path).parent, mode: 0o700)
                    try Self.copy(input, to: path)
                case .segment(let place):
                    try SegmentPiece.write(SegmentPiece.read(place, in: source), place, in: partial)
                }
                copied.insert(file)
                summary.objects += 1
                summary.bytes += size
            } catch let error as SystemError where error.code == .notFound {
                isComplete = false
            }
        }
        return isComplete
    }

    private static func copy(_ input: borrowing FileDescriptor, to path: String) throws {
        let output = try FileDescriptor(path: path, [.readWrite, .create, .truncate], mode: 0o600)
        if try output.clone(from: input) { return }
        var position: Int64 = 0
        while true {
            let bytes = try input.read(1 << 20, at: position)
            if bytes.isEmpty { return }
            try output.write(bytes)
            position += Int64(bytes.count)
        }
    }
}
