/// A word to search for in texts, ignoring case.
struct SearchWord {
    private let bytes: [UInt8]

    init(_ word: String) { bytes = Array(word.lowercased().utf8) }

    var isEmpty: Bool { bytes.isEmpty }

    /// Whether the word occurs in a text. An ASCII text, as most are, is not copied.
    func isIn(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { utf8 in
            if utf8.allSatisfy({ $0 < 0x80 }) { return isIn(utf8) { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
            var lower = String(decoding: utf8, as: UTF8.self).lowercased()
            return lower.withUTF8 { isIn($0) { $0 } }
        }
    }

    /// Whether the word occurs in a text with neither a letter nor a digit next to it.
    func isWhole(in text: String) -> Bool {
        let text = Array(text.lowercased().unicodeScalars)
        let word = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        guard !word.isEmpty, text.count >= word.count else { return false }
        func isInner(_ index: Int) -> Bool {
            text.indices.contains(index)
                && (text[index].properties.isAlphabetic || text[index].properties.numericType != nil)
        }
        return (0...(text.count - word.count)).contains { start in
            text[start..<(start + word.count)].elementsEqual(word) && !isInner(start - 1)
                && !isInner(start + word.count)
        }
    }

    private func isIn(_ text: UnsafeBufferPointer<UInt8>, _ lowered: (UInt8) -> UInt8) -> Bool {
        guard text.count >= bytes.count else { return false }
        for start in 0...(text.count - bytes.count) {
            var offset = 0
            while offset < bytes.count, lowered(text[start + offset]) == bytes[offset] { offset += 1 }
            if offset == bytes.count { return true }
        }
        return false
    }
}
