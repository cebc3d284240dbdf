/// Finds names in a directory that differ only in case or Unicode normalization.
struct ClashFinder {
    /// The ASCII names by a hash of their lower case. Nearly all names are ASCII, and need no
    /// string operations this way.
    private var ascii: [UInt64: String] = [:]
    /// The other names by their lower case. Swift's strings are equal across Unicode
    /// normalizations.
    private var others: [String: String] = [:]

    /// Adds a name, and returns an earlier name that it clashes with.
    mutating func insert(_ name: String) -> String? {
        if let hash = asciiHash(name) {
            guard let other = ascii.updateValue(name, forKey: hash) else { return nil }
            // Different names with equal hashes are practically impossible, but cheap to rule out.
            return other.lowercased() == name.lowercased() ? other : nil
        }
        return others.updateValue(name, forKey: name.lowercased())
    }

    /// Returns the FNV-1a hash of the lower case; nil if a byte is not ASCII.
    private func asciiHash(_ name: String) -> UInt64? {
        var name = name
        return name.withUTF8 { name in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in name {
                if byte >= 0x80 { return nil }
                hash ^= UInt64(byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte)
                hash &*= 0x100_0000_01B3
            }
            return hash
        }
    }
}
