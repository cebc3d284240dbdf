package import Cryptography

/// The format of a segment.
///
/// A segment starts with a block that contains its epoch, a random value that no client can know,
/// so that no bytes that a client puts into an object can pass for an entry. An entry starts at the
/// beginning of a block:
///
///     magic 8 ▸ epoch 16 ▸ size of the object 8, little-endian ▸ its place 60, filled up with zeros
///     ▸ SHA-256 of the object 32 ▸ CRC-32C of all that 4 ▸ the object
///
/// An entry shares its last block with no other entry, so that all its blocks can be freed. The
/// journals of earlier versions have the same format, with the name of the object's own file as the
/// place.
package enum EntryFormat {
    /// The size of a block in bytes.
    package static let block: Int64 = 4096
    static let epochSize = 16
    /// The size of the head of an entry in bytes.
    package static let headSize = 128
    private static let fileMagic = Array("FERRYJL1".utf8)
    private static let entryMagic = Array("FERRYOB1".utf8)
    private static let nameSize = 60

    /// The head of an entry.
    package struct Head {
        /// The name of the object's place or file.
        package let name: String
        /// The size of the object in bytes.
        package let size: Int
        package let digest: SHA256Digest
    }

    /// Returns the number of bytes that an entry takes in the file.
    static func entrySize(_ size: Int) -> Int64 { (Int64(headSize + size) + block - 1) / block * block }

    /// Returns the first block of a file.
    static func header(_ epoch: [UInt8]) -> [UInt8] {
        let header = sealed(fileMagic + epoch)
        return header + [UInt8](repeating: 0, count: Int(block) - header.count)
    }

    /// Returns the epoch of a file from its first bytes; nil if it is neither a segment nor a
    /// journal.
    static func epoch(_ header: [UInt8]) -> [UInt8]? {
        let size = fileMagic.count + epochSize
        guard header.count >= size + 4, let bytes = opened(header.prefix(size + 4)), bytes.starts(with: fileMagic)
        else { return nil }
        return Array(bytes.dropFirst(fileMagic.count))
    }

    /// Returns the head of an entry as bytes.
    static func head(_ epoch: [UInt8], _ name: String, size: Int, _ digest: SHA256Digest) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(headSize)
        let name = name.utf8.prefix(nameSize)
        head += entryMagic + epoch
        withUnsafeBytes(of: UInt64(size).littleEndian) { head += $0 }
        head += name
        head.append(contentsOf: repeatElement(0, count: nameSize - name.count))
        head += digest.bytes
        return sealed(head)
    }

    /// Parses the head of an entry; nil if the bytes are not a head, or have another epoch than the
    /// given one.
    package static func head(_ bytes: [UInt8], epoch: [UInt8] = []) -> Head? {
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
        return Head(name: String(decoding: name, as: UTF8.self), size: size, digest: digest)
    }

    /// Whether the bytes start like the head of an entry with that name. Bytes that were freed or
    /// lost do not.
    static func isHead(_ bytes: [UInt8], named name: String) -> Bool {
        guard bytes.count == headSize, bytes.starts(with: entryMagic) else { return false }
        let field = bytes[(entryMagic.count + epochSize + 8)...].prefix(nameSize)
        var rest = field.makeIterator()
        for byte in name.utf8 where rest.next() != byte { return false }
        return rest.next().map { $0 == 0 } ?? true
    }

    /// Returns the object of an entry, given from its head on; nil if it is not what was stored
    /// under that name.
    static func object(_ entry: [UInt8], named name: String) -> (bytes: ArraySlice<UInt8>, digest: SHA256Digest)? {
        let bytes = entry.dropFirst(headSize)
        guard let head = head(Array(entry.prefix(headSize))), head.name == name, head.size == bytes.count,
            head.digest == SHA256.hash(bytes)
        else { return nil }
        return (bytes, head.digest)
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
