import Cryptography

/// The journal's bytes. A file begins with a block that names its epoch; an entry begins at the start of a block, with
///
///     magic 8 ▸ epoch 16 ▸ size of the object 8, little-endian ▸ name of its file 60, filled up with zeros
///     ▸ SHA-256 of the object 32 ▸ CRC-32C of all that 4 ▸ the object
///
/// and ends at the end of one, so that no block has to be read before it is written.
enum JournalFormat {
    static let block: Int64 = 4096
    static let epochSize = 16
    static let headSize = 128
    private static let fileMagic = Array("FERRYJL1".utf8)
    private static let entryMagic = Array("FERRYOB1".utf8)
    private static let nameSize = 60

    /// The first bytes of an entry, taken apart.
    struct Head {
        let file: String
        let size: Int
        let digest: SHA256Digest
    }

    /// Bytes of an entry in the journal.
    static func entrySize(_ size: Int) -> Int64 { (Int64(headSize + size) + block - 1) / block * block }

    static func header(_ epoch: [UInt8]) -> [UInt8] {
        let header = sealed(fileMagic + epoch)
        return header + [UInt8](repeating: 0, count: Int(block) - header.count)
    }

    /// The epoch of a file that begins with these bytes; nil where it is not a journal's.
    static func epoch(_ header: [UInt8]) -> [UInt8]? {
        let size = fileMagic.count + epochSize
        guard header.count >= size + 4, let bytes = opened(header.prefix(size + 4)), bytes.starts(with: fileMagic)
        else { return nil }
        return Array(bytes.dropFirst(fileMagic.count))
    }

    static func entry(_ epoch: [UInt8], _ file: String, _ bytes: [UInt8], _ digest: SHA256Digest) -> [UInt8] {
        var entry: [UInt8] = []
        let size = Int(entrySize(bytes.count))
        entry.reserveCapacity(size)
        let name = file.utf8.prefix(nameSize)
        entry += entryMagic + epoch
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { entry += $0 }
        entry += name
        entry.append(contentsOf: repeatElement(0, count: nameSize - name.count))
        entry += digest.bytes
        entry = sealed(entry)
        entry += bytes
        entry.append(contentsOf: repeatElement(0, count: size - entry.count))
        return entry
    }

    /// nil where the bytes are no entry of this epoch.
    static func head(_ bytes: [UInt8], epoch: [UInt8]) -> Head? {
        guard bytes.count == headSize, let head = opened(bytes[...]), head.starts(with: entryMagic + epoch) else {
            return nil
        }
        let sizes = head.dropFirst(entryMagic.count + epochSize)
        let size = sizes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let names = sizes.dropFirst(8)
        guard let size = Int(exactly: size), let digest = SHA256Digest(bytes: names.dropFirst(nameSize)) else {
            return nil
        }
        let name = names.prefix(nameSize).prefix { $0 != 0 }
        return Head(file: String(decoding: name, as: UTF8.self), size: size, digest: digest)
    }

    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var check = CRC32(.castagnoli)
        check.update(bytes)
        return bytes + check.bytes
    }

    private static func opened(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var check = CRC32(.castagnoli)
        check.update(bytes.dropLast(4))
        return bytes.suffix(4).elementsEqual(check.bytes) ? bytes.dropLast(4) : nil
    }
}
