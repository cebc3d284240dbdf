import SystemIO

/// A directory of Markdown tasks to read from or copy to.
struct TaskDirectory {
    private let directory: Directory

    static let suffix = ".md"

    init(_ path: String) throws(SystemError) { directory = try Directory(path: path) }

    struct File: Hashable {
        /// The relative path of the task file.
        let path: String
        /// The relative paths of the files in its `X.files`.
        let attachments: [String]

        /// The path without its extension: `Work/Ship 1.0` for `Work/Ship 1.0.md`.
        var stem: String { String(path.dropLast(TaskDirectory.suffix.count)) }
    }

    /// The contents of the directory.
    struct Content {
        /// The task files in the order of their paths.
        var tasks: [File] = []
        /// The files that are neither a task nor an attachment of one, with the reason, in the
        /// order of their paths.
        var others: [(path: String, reason: String)] = []
        var hidden = 0
    }

    /// Returns everything in the directory, including links and hidden files.
    func files() throws(SystemError) -> Content {
        var content = Content()
        var tasks: [String] = []
        var attachments: [String: [String]] = [:]
        try directory.forEachVisibleFile(
            { path in
                if path.hasSuffix(Self.suffix), !path.contains(".files/") {
                    tasks.append(path)
                } else if let stem = Self.owner(of: path) {
                    attachments[stem, default: []].append(path)
                } else {
                    content.others.append((path, "It is not a task file: its name does not end with .md."))
                }
            },
            skip: { path, why in
                if case .hidden = why { content.hidden += 1 } else { content.others.append((path, why.reason)) }
            })
        content.tasks = tasks.sorted().map { path in
            let stem = String(path.dropLast(Self.suffix.count))
            return File(path: path, attachments: (attachments.removeValue(forKey: stem) ?? []).sorted())
        }
        content.others += attachments.values.joined().map { ($0, "There is no task file next to its directory.") }
        content.others.sort { $0.path < $1.path }
        return content
    }

    /// Returns one task file of the directory, with its attachments.
    func file(_ name: String) throws(SystemError) -> File {
        let attachments = "\(name.dropLast(Self.suffix.count)).files"
        var paths: [String] = []
        do throws(SystemError) {
            try directory.directory(attachments).forEachVisibleFile(
                { paths.append("\(attachments)/\($0)") }, skip: { _, _ in })
        } catch {
            guard error.code == .notFound || error.code == .notDirectory else { throw error }
        }
        return File(path: name, attachments: paths.sorted())
    }

    /// Returns the task to which an attachment belongs: `Work/Ship` for `Work/Ship.files/a.pdf`.
    private static func owner(of path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count > 1, parts[parts.count - 2].hasSuffix(".files") else { return nil }
        return (parts.dropLast(2) + [parts[parts.count - 2].dropLast(6)]).joined(separator: "/")
    }

    func read(_ path: String) throws(SystemError) -> [UInt8] { try directory.read(path, limit: 16 << 20) }

    /// Returns the bytes of a file; nil if it does not exist.
    func readIfPresent(_ path: String) throws(SystemError) -> [UInt8]? {
        try directory.statusIfPresent(path) == nil ? nil : try read(path)
    }

    func write(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        try makeParent(of: path)
        try directory.replace(path, with: bytes, exclusive: true)
    }

    /// Copies a file of any size. The copy appears under its name when it is complete.
    func copy(_ path: String, of source: TaskDirectory, to target: String) throws(SystemError) {
        try makeParent(of: target)
        let from = try source.directory.open(path, [.read, .nonBlocking])
        let temporary = Directory.temporary(beside: target)
        do throws(SystemError) {
            let to = try directory.open(temporary, [.write, .create, .exclusive])
            if try !to.clone(from: from) {
                var offset: Int64 = 0
                while true {
                    let bytes = try from.read(1 << 20, at: offset)
                    guard !bytes.isEmpty else { break }
                    try to.write(bytes)
                    offset += Int64(bytes.count)
                }
            }
            try to.synchronize()
            try directory.rename(temporary, to: target, .exclusive)
        } catch {
            try? directory.remove(temporary)
            throw error
        }
    }

    private func makeParent(of path: String) throws(SystemError) {
        let parts = path.split(separator: "/").dropLast()
        if !parts.isEmpty { try directory.makeDirectories(parts.joined(separator: "/")) }
    }
}
