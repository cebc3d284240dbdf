extension StringProtocol {
    /// The columns that the text takes on a terminal: two for wide East Asian characters and emoji,
    /// none for combining marks.
    ///
    /// Terminals differ about sequences of emoji and about some scripts of India. What comes behind
    /// such text must be placed by its column.
    var columns: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.columns }
    }

    /// The beginning that fits into `limit` columns, with an ellipsis where something was left out.
    func cut(to limit: Int) -> String {
        guard columns > limit else { return String(self) }
        var text = ""
        var used = 0
        for character in self {
            let width = character.columns
            guard used + width < limit else { break }
            text.append(character)
            used += width
        }
        while text.last == " " { text.removeLast() }
        return text + "…"
    }

    /// The text between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE if a part of it is written
    /// from right to left, so that a terminal which reorders such text leaves the rest of the line
    /// in its place.
    var isolated: String {
        unicodeScalars.contains { $0.isRightToLeft } ? "\u{2068}\(self)\u{2069}" : String(self)
    }
}

extension Character {
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        let isPicture = unicodeScalars.dropFirst().contains { scalar in
            // Shown as a picture, joined, of a skin color, with a keycap, a flag's second letter.
            [0xFE0F, 0x200D, 0x20E3].contains(scalar.value) && (first.properties.isEmoji)
                || scalar.properties.isEmojiModifier || (0x1F1E6...0x1F1FF).contains(scalar.value)
        }
        return isPicture ? 2 : unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension Unicode.Scalar {
    /// The columns that the scalar adds, as wcwidth(3) has it with the widths of UAX #11.
    fileprivate var columns: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch value {
        // The second and third letter of a Hangul syllable join the first.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        case 0x1100...0x115F, 0x2329, 0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
            return 2
        default: return properties.isEmojiPresentation ? 2 : 1
        }
    }

    /// Whether it is a letter or digit of a script that is written from right to left: Hebrew,
    /// Arabic and their relatives (the bidirectional classes R and AL).
    fileprivate var isRightToLeft: Bool {
        switch value {
        case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFE, 0x10800...0x10FFF, 0x1E800...0x1EFFF: true
        default: false
        }
    }
}
