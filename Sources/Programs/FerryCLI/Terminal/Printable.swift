extension String {
    /// The text with everything escaped that a terminal would act on or hide: control characters, line and paragraph
    /// separators, and format characters, such as those that turn the direction of text or have no width.
    ///
    /// Every text that may come from another person is printed through this, so that a title can
    /// neither steer the terminal nor look like another one. What scripts and emoji need stays: a
    /// joiner within an emoji or between letters of a script that joins them, and the tags of a
    /// flag.
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
    /// Whether it is shown as something else than a sign of its own.
    fileprivate var isUnprintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        // Letters of no width, which are no format characters.
        default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
        }
    }

    /// Whether its script writes a word differently with a joiner or a non-joiner: Arabic and its
    /// relatives, those of India.
    fileprivate var isJoining: Bool {
        (0x0600..<0x1200).contains(value)
            && (properties.isAlphabetic || properties.canonicalCombiningClass != .notReordered)
    }
}

extension Character {
    /// Whether the scalar at `index` makes this character what it is.
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
