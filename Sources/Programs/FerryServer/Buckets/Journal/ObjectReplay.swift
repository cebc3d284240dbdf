import Cryptography
import SystemIO

/// Writes again what the journal has, and a power cut took from the files.
struct ObjectReplay {
    /// The store's.
    let directory: String

    /// Returns when all files that the journal knows are whole and on the disk.
    ///
    /// - Parameter isKnown: whether a record refers to a file. Of others nobody was told that they are stored.
    func run(isKnown: (String) -> Bool) throws {
        var hasEntries = false
        for path in ObjectJournal.paths(in: directory) where FileSystem.exists(path) {
            let journal = try FileDescriptor(path: path, .read)
            guard let epoch = JournalFormat.epoch(try journal.read(Int(JournalFormat.block), at: 0)) else { continue }
            var position = JournalFormat.block
            let end = try journal.status().size
            // Entries are written at the same time, so that one may be torn and one behind it whole.
            while position < end {
                let bytes = try journal.read(JournalFormat.headSize, at: position)
                guard let head = JournalFormat.head(bytes, epoch: epoch), head.size <= end - position,
                    let object = try object(head, in: journal, at: position + Int64(JournalFormat.headSize))
                else {
                    position += JournalFormat.block
                    continue
                }
                if isKnown(head.file) {
                    hasEntries = true
                    try restore(head.file, object)
                }
                position += JournalFormat.entrySize(head.size)
            }
        }
        if hasEntries { try FileDescriptor(path: directory, [.read, .directory]).synchronizeFileSystem() }
    }

    private func object(_ head: JournalFormat.Head, in journal: borrowing FileDescriptor, at offset: Int64) throws
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
