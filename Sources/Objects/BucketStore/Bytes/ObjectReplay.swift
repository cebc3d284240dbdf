import Cryptography
import SystemIO

/// Restores files that a power cut took from a store of an earlier version, which kept small
/// objects in files of their own and made them durable with a journal.
struct ObjectReplay {
    /// The store's directory.
    let directory: String

    /// The paths of the journal's two halves.
    private var paths: [String] { [0, 1].map { "\(directory)/journal-\($0)" } }

    /// Restores all files that the journal holds and records refer to, and removes the journal.
    ///
    /// - Parameter isKnown: Whether a record refers to a file. A file without a record was never
    ///   confirmed to a client.
    func run(isKnown: (String) -> Bool) throws {
        var hasEntries = false
        for path in paths where FileSystem.exists(path) {
            let journal = try FileDescriptor(path: path, .read)
            guard let epoch = EntryFormat.epoch(try journal.read(Int(EntryFormat.block), at: 0)) else { continue }
            var position = EntryFormat.block
            let end = try journal.status().size
            // Entries were written concurrently, so one may be torn and a later one complete.
            while position < end {
                let bytes = try journal.read(EntryFormat.headSize, at: position)
                guard let head = EntryFormat.head(bytes, epoch: epoch), head.size <= end - position,
                    let object = try object(head, in: journal, at: position + Int64(EntryFormat.headSize))
                else {
                    position += EntryFormat.block
                    continue
                }
                if isKnown(head.name) {
                    hasEntries = true
                    try restore(head.name, object)
                }
                position += EntryFormat.entrySize(head.size)
            }
        }
        if hasEntries { try FileDescriptor(path: directory, [.read, .directory]).synchronizeFileSystem() }
        for path in paths { try FileSystem.remove(path) }
    }

    private func object(_ head: EntryFormat.Head, in journal: borrowing FileDescriptor, at offset: Int64) throws
        -> [UInt8]?
    {
        let bytes = try journal.read(head.size, at: offset)
        return bytes.count == head.size && SHA256.hash(bytes) == head.digest ? bytes : nil
    }

    private func restore(_ file: String, _ bytes: [UInt8]) throws {
        let path = "\(directory)/files/\(file)"
        if try FileSystem.readIfPresent(path) == bytes { return }
        try FileSystem.replace(path, with: bytes, mode: 0o600)
    }
}
