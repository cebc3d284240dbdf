/// Converts libyaml's positions, which count characters, to byte offsets.
///
/// ASCII text needs no table; for other text the offset of every 32nd character is stored.
struct SourceOffsets {
    private static let step = 32

    private let base: Int
    private let checkpoints: [Int]?

    init(_ text: UnsafeBufferPointer<UInt8>, base: Int) {
        self.base = base
        guard text.contains(where: { $0 >= 0x80 }) else {
            checkpoints = nil
            return
        }
        var checkpoints: [Int] = []
        checkpoints.reserveCapacity(text.count / Self.step + 1)
        var characters = 0
        for (offset, byte) in text.enumerated() where byte & 0xC0 != 0x80 {
            if characters % Self.step == 0 { checkpoints.append(offset) }
            characters += 1
        }
        self.checkpoints = checkpoints
    }

    /// Returns the offset of the character `index` of `text`, plus the base; the end for an index
    /// after the last character.
    func offset(ofCharacter index: Int, in text: UnsafeBufferPointer<UInt8>) -> Int {
        guard let checkpoints else { return base + min(index, text.count) }
        let slot = index / Self.step
        guard slot < checkpoints.count else { return base + text.count }
        var offset = checkpoints[slot]
        var remaining = index % Self.step
        while remaining > 0, offset < text.count {
            offset += 1
            while offset < text.count, text[offset] & 0xC0 == 0x80 { offset += 1 }
            remaining -= 1
        }
        return base + offset
    }
}
