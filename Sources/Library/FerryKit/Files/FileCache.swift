import ObjectStorage
import Synchronization
import SystemIO

/// Downloaded files that are kept for the next use, within a limit. They are named by their content, so
/// none of them is ever out of date.
final class FileCache: Sendable {
    /// A file of the cache.
    struct Item: Hashable {
        let name: String
        let size: Int64
        /// The time of the last use.
        let used: FileTime
    }

    private let directory: String
    private let limit = Mutex<Int64>(256 << 20)
    /// The number of uses by this object, which orders those of one moment.
    private let uses = Mutex<Int32>(0)

    init(directory: String) throws {
        self.directory = directory
        do { try FileSystem.makeDirectories(directory, mode: 0o700) } catch {
            throw FerryError(.storage, "The directory \(directory) cannot be made: \(error)", cause: error)
        }
    }

    /// The name of a file in the cache: that of its object, with the ending of the file's own name, by
    /// which programs recognize its type.
    static func name(of file: FileReference, _ object: ObjectKey) -> String {
        let hash = object.text.split(separator: "/").last.map(String.init) ?? ""
        guard let dot = file.name.lastIndex(of: ".") else { return hash }
        let ending = file.name[file.name.index(after: dot)...]
        let isPlain =
            (1...8).contains(ending.utf8.count) && ending.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return isPlain ? "\(hash).\(ending)" : hash
    }

    func path(of name: String) -> String { "\(directory)/\(name)" }

    /// Returns the path of a file of the cache, which counts as used now; nil if it is not there.
    func find(_ name: String, now: Int64) -> String? {
        let path = path(of: name)
        guard let file = try? FileDescriptor(path: path, .read) else { return nil }
        let use = uses.withLock { uses in
            uses = (uses + 1) % 1_000_000
            return uses
        }
        let milliseconds = Int32(truncatingIfNeeded: now % 1000)
        try? file.setModified(FileTime(seconds: now / 1000, nanoseconds: milliseconds * 1_000_000 + use))
        return path
    }

    /// Sets the limit in bytes, and removes what is above it.
    func limit(_ bytes: Int64) {
        limit.withLock { $0 = max(0, bytes) }
        evict()
    }

    /// Removes the files that were not used for the longest time, until the rest is within the limit.
    ///
    /// - Parameter kept: a file that is about to be used.
    func evict(keeping kept: String? = nil) {
        guard let place = try? Directory(path: directory), let entries = try? place.entries() else { return }
        let items = entries.compactMap { entry -> Item? in
            guard let status = try? place.status(entry.name), status.kind == .file else { return nil }
            return Item(name: entry.name, size: status.size, used: status.modified)
        }
        for name in Self.surplus(of: items, limit: limit.withLock { $0 }, keeping: kept) { try? place.remove(name) }
    }

    /// Returns the names of the files to remove so that the others have at most `limit` bytes. Pure.
    static func surplus(of items: [Item], limit: Int64, keeping kept: String?) -> [String] {
        var bytes = items.reduce(Int64(0)) { $0.saturatingAdded(to: $1.size) }
        var names: [String] = []
        for item in items.sorted(by: { ($0.used, $0.name) < ($1.used, $1.name) }) {
            if bytes <= limit { break }
            // Others may be half downloaded: those are not complete, and in use.
            if item.name == kept || !isComplete(item.name) { continue }
            bytes = bytes.saturatingSubtracted(by: item.size)
            names.append(item.name)
        }
        return names
    }

    /// Whether a name is that of a whole file, and not of one that is being downloaded.
    private static func isComplete(_ name: String) -> Bool { ContentHash(hex: name.prefix { $0 != "." }) != nil }
}
