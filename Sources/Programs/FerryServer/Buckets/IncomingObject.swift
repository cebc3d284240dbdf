import Cryptography
import SystemIO

/// The bytes of an object on their way in: a file under a temporary name, hashed as it grows.
///
/// Used by one request at a time, on a thread that may block. Dropped before `keep`, it leaves no file.
struct IncomingObject: ~Copyable {
    private(set) var size: Int64 = 0
    private let descriptor: FileDescriptor
    private var path: String
    private var window = PageWindow()
    private var isKept = false
    private var sha256: SHA256
    private var md5: MD5?
    private var crc32: CRC32?
    private var crc32c: CRC32?

    /// The digests of what came in; nil where they were not asked for.
    struct Digests: Sendable {
        let sha256: SHA256Digest
        let md5: [UInt8]?
        let crc32: [UInt8]?
        let crc32c: [UInt8]?
    }

    /// Which digests to compute beside SHA-256.
    struct Wanted: OptionSet, Sendable {
        let rawValue: Int

        static let md5 = Wanted(rawValue: 1)
        static let crc32 = Wanted(rawValue: 2)
        static let crc32c = Wanted(rawValue: 4)
    }

    init(path: String, _ wanted: Wanted) throws {
        self.path = path
        descriptor = try FileDescriptor(path: path, [.readWrite, .create, .exclusive], mode: 0o600)
        sha256 = SHA256()
        md5 = wanted.contains(.md5) ? MD5() : nil
        crc32 = wanted.contains(.crc32) ? CRC32(.ieee) : nil
        crc32c = wanted.contains(.crc32c) ? CRC32(.castagnoli) : nil
    }

    deinit {
        if !isKept { _ = try? FileSystem.remove(path) }
    }

    mutating func append(_ bytes: [UInt8]) throws {
        try descriptor.write(bytes)
        size += Int64(bytes.count)
        try window.hasWritten(upTo: size, of: descriptor)
        bytes.withUnsafeBytes { bytes in
            sha256.update(bytes)
            md5?.update(bytes)
            crc32?.update(bytes)
            crc32c?.update(bytes)
        }
    }

    mutating func digests() -> Digests {
        let sum = md5?.finish()
        return Digests(sha256: sha256.finish(), md5: sum, crc32: crc32?.bytes, crc32c: crc32c?.bytes)
    }

    /// Makes the bytes durable under a name in `directory`. No record refers to the file before this returns, so it is renamed
    /// first: one commit of the file system's journal then does for its bytes and its name.
    mutating func keep(as name: String, in directory: SharedDirectory) throws {
        let target = "\(directory.path)/\(name)"
        try FileSystem.rename(path, to: target)
        path = target
        try descriptor.synchronize()
        try directory.synchronize()
        isKept = true
    }
}
