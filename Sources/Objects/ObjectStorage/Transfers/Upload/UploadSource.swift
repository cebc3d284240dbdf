import Cryptography
import Synchronization
import SystemIO

/// Opens the content of a `File`, any number of times. A stream is written to a file at the first
/// time.
final class UploadSource: Sendable {
    private let file: File
    private let spool: String
    private let spooled = Mutex<String?>(nil)

    init(_ file: File, spool: String) {
        self.file = file
        self.spool = spool
    }

    deinit { discard() }

    /// Opens the content at its start.
    func open() async throws -> any ByteSource {
        switch file.content {
        case .bytes(let bytes): return MemorySource(name: file.name, bytes: bytes)
        case .path(let path): return try FileSource(path: path)
        case .stream(let stream):
            if let path = spooled.withLock({ $0 }) { return try FileSource(path: path) }
            let path =
                "\(spool)/\(Directory.temporaryPrefix)\(Hex.encode(RandomBytes.make(16)))\(Directory.temporarySuffix)"
            try await Spool.write(stream, to: path)
            spooled.withLock { $0 = path }
            return try FileSource(path: path)
        }
    }

    /// Deletes the copy of a stream.
    func discard() {
        guard
            let path = spooled.withLock({ path in
                defer { path = nil }
                return path
            })
        else { return }
        _ = try? FileSystem.remove(path)
    }
}

/// Writes streams to files.
enum Spool {
    /// Writes a stream to a new file. After an error or a cancellation no file is left, and the
    /// stream cannot be read again.
    static func write(_ stream: any AsyncSequence<[UInt8], any Error> & Sendable, to path: String) async throws {
        do {
            let file = OpenFile(try FileDescriptor(path: path, [.write, .create, .exclusive], mode: 0o600))
            for try await part in stream {
                try Task.checkCancellation()
                try file.descriptor.write(part)
            }
            try file.descriptor.synchronize()
        } catch {
            _ = try? FileSystem.remove(path)
            if let error = error as? SystemError { throw ObjectStorageError(error) }
            throw error
        }
    }
}
