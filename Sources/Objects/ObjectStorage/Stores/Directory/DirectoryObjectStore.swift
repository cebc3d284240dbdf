import Glibc
import SystemIO

/// A store in a directory, one file per object; see `KeyPath` for the paths.
///
/// An upload writes and syncs a temporary file, renames it and syncs the directory, so an object is
/// there whole or not at all, even after a power failure. Several processes may use one directory.
public final class DirectoryObjectStore: ObjectStore {
    private static let incoming = ".incoming"
    /// The age in seconds at which temporary files of a crashed process are removed. No upload
    /// takes that long.
    private static let leftoverAge: Int64 = 24 * 3600
    private static let partLength: Int64 = 1 << 20

    private let root: Directory

    /// Opens the store, and creates the directory if necessary.
    public init(path: String) throws(ObjectStorageError) {
        do throws(SystemError) {
            try FileSystem.makeDirectories(path, mode: 0o700)
            root = try Directory(path: path)
            try root.makeDirectories(Self.incoming, mode: 0o700)
        } catch {
            throw ObjectStorageError(error)
        }
        removeLeftovers()
    }

    /// Writes the object to its file, which is on disk when this returns. `hash` is not used.
    public func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        let path = try KeyPath.path(of: key)
        try await blocking { [root] in
            let temporary = "\(Self.incoming)/\(SystemRandom.hex(16))"
            let file = try root.open(temporary, [.write, .create, .exclusive], mode: 0o600)
            do {
                try file.write(content)
                try file.synchronize()
                try file.close()
                try Self.move(temporary, to: path, in: root)
            } catch {
                try? root.remove(temporary)
                throw error
            }
        }
    }

    /// Opens the file of the object. Each part has at most 1 MiB.
    public func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let path = try KeyPath.path(of: key)
        let (file, info) = try await blocking { [root] in
            let file = OpenFile(try root.open(path, [.read, .nonBlocking]))
            let status = try file.descriptor.status()
            guard status.kind == .file else {
                throw ObjectStorageError(.notFound, "there is no object \(key): \(path) is not a regular file")
            }
            return (file, Self.info(key, status))
        }
        let bounds = try info.clamped(range)
        let position = Position(bounds.lowerBound)
        return ObjectContent(info: info, length: bounds.upperBound - bounds.lowerBound) {
            try await blocking {
                let start = position.advance(by: Self.partLength, upTo: bounds.upperBound)
                guard !start.isEmpty else { return nil }
                let part = try file.descriptor.read(start.count, at: start.lowerBound)
                guard part.count == start.count else {
                    throw ObjectStorageError(.corrupt, "the object \(key) lost its end while it was read")
                }
                return part
            }
        }
    }

    /// Returns the properties of the file of the object; nil if there is none.
    public func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        let path = try KeyPath.path(of: key)
        return try await blocking { [root] in
            do throws(SystemError) {
                let status = try root.status(path)
                return status.kind == .file ? Self.info(key, status) : nil
            } catch {
                if error.code == .notFound { return nil }
                throw error
            }
        }
    }

    /// Lists the files whose keys begin with `prefix`, ordered by key.
    public func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        let limit = max(1, min(limit, 1000))
        return try await blocking { [root] in
            var listing = DirectoryListing(root: root, prefix: prefix, after: after, limit: limit + 1)
            let found = try listing.run()
            let page = found.prefix(limit)
            return ObjectPage(objects: Array(page), next: found.count > limit ? page.last?.key : nil)
        }
    }

    /// Deletes the file of the object. It is no error if there is none.
    public func delete(_ key: ObjectKey) async throws {
        let path = try KeyPath.path(of: key)
        try await blocking { [root] in
            do throws(SystemError) {
                try root.remove(path)
            } catch {
                if error.code != .notFound { throw error }
            }
        }
    }

    static func info(_ key: ObjectKey, _ status: FileStatus) -> ObjectInfo {
        let time = status.modified
        return ObjectInfo(
            key: key, size: status.size, version: "\(status.inode)-\(time.seconds).\(time.nanoseconds)",
            modified: time.seconds)
    }

    private static func move(_ temporary: String, to path: String, in root: Directory) throws {
        do throws(SystemError) {
            try root.rename(temporary, to: path)
        } catch {
            guard error.code == .notFound else { throw error }
            try makeParents(of: path, in: root)
            try root.rename(temporary, to: path)
        }
        try root.synchronizeParent(of: path)
    }

    /// Creates the directories above `path` and syncs each of them.
    private static func makeParents(of path: String, in root: Directory) throws {
        var parent = ""
        for name in path.split(separator: "/").dropLast() {
            parent += parent.isEmpty ? String(name) : "/\(name)"
            do throws(SystemError) {
                try root.makeDirectory(parent, mode: 0o700)
            } catch {
                if error.code != .exists { throw error }
            }
            try root.synchronizeParent(of: parent)
        }
    }

    private func removeLeftovers() {
        guard let directory = try? root.directory(Self.incoming), let entries = try? directory.entries() else { return }
        let now = Environment.system.wallClock() / 1000
        for entry in entries {
            guard let status = try? directory.status(entry.name), status.modified.seconds < now - Self.leftoverAge
            else {
                continue
            }
            try? directory.remove(entry.name)
        }
    }
}

/// Runs blocking calls on the module's own threads and converts their errors to
/// `ObjectStorageError`.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try Task.checkCancellation()
    return try await withTaskExecutorPreference(StorageThreads.shared) { try await runConvertingErrors(body) }
}

/// Runs `body` and converts its errors. It is not isolated to any actor, so the preferred executor
/// runs it.
private nonisolated func runConvertingErrors<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws
    -> Result
{
    do {
        return try body()
    } catch let error as SystemError {
        throw ObjectStorageError(error)
    }
}
