extension String {
    /// The text with all characters escaped that a terminal would interpret or hide: control
    /// characters, line and paragraph separators, and format characters, such as those that change
    /// the direction of text or have no width.
    ///
    /// Every text that may come from another user is printed through this, so that a title can
    /// neither control the terminal nor look like another title. Characters that scripts and emoji
    /// need are kept: a joiner within an emoji or between letters of a script that uses joiners,
    /// and the tags of a flag.
    var printable: String {
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        guard unicodeScalars.contains(where: { $0.isUnprintable }) else { return self }
        var text = ""
        for character in self {
            let scalars = character.unicodeScalars
            for index in scalars.indices {
                let scalar = scalars[index]
                if scalar.isUnprintable, !character.needs(at: index) {
                    text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal may show the scalar as something other than a glyph of its own.
    fileprivate var isUnprintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        // Letters without width, which are not format characters.
        default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
        }
    }

    /// Whether the scalar's script spells words differently with a joiner or a non-joiner: Arabic
    /// and related scripts, and those of India.
    fileprivate var isJoining: Bool {
        (0x0600..<0x1200).contains(value)
            && (properties.isAlphabetic || properties.canonicalCombiningClass != .notReordered)
    }
}

extension Character {
    /// Whether the character needs the scalar at `index` to keep its meaning.
    fileprivate func needs(at index: String.UnicodeScalarView.Index) -> Bool {
        guard let first = unicodeScalars.first, index > unicodeScalars.startIndex else { return false }
        let before = unicodeScalars[unicodeScalars.index(before: index)]
        let next = unicodeScalars.index(after: index)
        let after = next < unicodeScalars.endIndex ? unicodeScalars[next] : nil
        switch unicodeScalars[index].value {
        case 0x200D where first.properties.isEmoji && first.value > 0xFF: return after?.properties.isEmoji == true
        case 0x200C, 0x200D: return before.isJoining
        case 0xE0020...0xE007F: return first.value == 0x1F3F4
        default: return false
        }
    }
}
