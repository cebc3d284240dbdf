/// Finds names that differ only in case or Unicode form, among those of one directory.
struct ClashFinder {
    /// By a hash of the name in lower case: names of ASCII, nearly all there are, cost no string operations.
    private var ascii: [UInt64: String] = [:]
    /// Swift's strings are equal across Unicode forms.
    private var others: [String: String] = [:]

    /// Gives a name seen before that the new one clashes with.
    mutating func insert(_ name: String) -> String? {
        if let hash = asciiHash(name) {
            guard let other = ascii.updateValue(name, forKey: hash) else { return nil }
            // Equal hashes of different names are as good as impossible, but cheap to rule out.
            return other.lowercased() == name.lowercased() ? other : nil
        }
        return others.updateValue(name, forKey: name.lowercased())
    }

    /// FNV-1a of the lower case; nil where a byte is not ASCII.
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
