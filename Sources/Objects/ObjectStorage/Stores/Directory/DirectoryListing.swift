import SystemIO

/// Lists one page of the keys of a directory store, in order. It reads only the directories that
/// can contain keys of the page.
struct DirectoryListing {
    private let root: Directory
    private let prefix: [UInt8]
    private let after: [UInt8]?
    private let limit: Int
    private var found: [ObjectInfo] = []

    init(root: Directory, prefix: String, after: ObjectKey?, limit: Int) {
        self.root = root
        self.prefix = Array(prefix.utf8)
        self.after = after.map { Array($0.text.utf8) }
        self.limit = limit
    }

    mutating func run() throws -> [ObjectInfo] {
        try visit(root, key: [])
        return found
    }

    /// A directory entry with the bytes that decide the order of its keys.
    private struct Candidate {
        var key: [UInt8]
        var name: String
        var isDirectory: Bool
    }

    private mutating func visit(_ directory: Directory, key: [UInt8]) throws {
        for candidate in try candidates(in: directory, key: key) {
            guard found.count < limit else { return }
            do {
                if candidate.isDirectory {
                    try visit(directory.directory(candidate.name), key: candidate.key)
                } else {
                    let status = try directory.status(candidate.name)
                    let key = try ObjectKey(String(decoding: candidate.key, as: UTF8.self))
                    if status.kind == .file { found.append(DirectoryObjectStore.info(key, status)) }
                }
            } catch let error as SystemError where error.code == .notFound {
                continue  // Deleted since the directory was read.
            }
        }
    }

    private func candidates(in directory: Directory, key: [UInt8]) throws -> [Candidate] {
        var candidates: [Candidate] = []
        try directory.forEachEntry { entry in
            guard entry.invalidBytes == nil else { return }
            if let part = KeyPath.part(ofFile: entry.name) {
                let key = key + part
                guard key.starts(with: prefix), after.map({ $0.lexicographicallyPrecedes(key) }) ?? true else { return }
                candidates.append(Candidate(key: key, name: entry.name, isDirectory: false))
            } else if let part = KeyPath.part(ofDirectory: entry.name) {
                let key = key + part + [UInt8(ascii: "/")]
                guard key.starts(with: prefix) || prefix.starts(with: key), mayFollow(key) else { return }
                candidates.append(Candidate(key: key, name: entry.name, isDirectory: true))
            }
        }
        return candidates.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// Whether keys with this start can come after `after`.
    private func mayFollow(_ start: [UInt8]) -> Bool {
        guard let after else { return true }
        return after.starts(with: start) || after.lexicographicallyPrecedes(start)
    }
}
