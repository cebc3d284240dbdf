/// The name of a task's file, a list's folder or an attachment, made of a title or name that may come from anywhere.
///
/// The result is one path component that no title can turn into a path, a hidden file or a name too
/// long for the disk. A title that a name can carry is the name, byte for byte: spaces and dots at
/// its ends stay, since `Work` and `Work.` are two.
public struct TaskFileName: Sendable, Hashable {
    /// The extension of task files.
    public static let suffix = ".md"

    /// The name of the file or folder: at most 255 bytes, never hidden, without `/` and control
    /// characters.
    public let name: String
    /// Whether the title can be derived from the name. If not, the file needs a `title` key.
    public let carriesTitle: Bool

    /// The longest name of a file.
    private static let nameLimit = 255
    /// The longest start of a name that is cut: room for `.files`, which is longer than `.md`, in
    /// the 255 bytes of a name.
    private static let maximumBytes = 249

    /// Returns the title that a file's name represents: the part before `.md`.
    public static func title(of name: String) -> String {
        name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count ? String(name.dropLast(suffix.count)) : name
    }

    /// Returns `Title.md`, or `Title (2).md` for the number 2, and so on.
    public static func file(for title: String, number: Int = 1) -> TaskFileName {
        let isSafe = isSafe(title, limit: nameLimit - suffix.utf8.count)
        return name(isSafe ? title : stem(for: title, isFolder: false), number, suffix, for: title)
    }

    /// Returns the name of a list's folder. If it cannot represent the list's name, only the list's
    /// document contains that name, because a folder has no front matter.
    public static func folder(for name: String, number: Int = 1) -> TaskFileName {
        let lowercased = name.lowercased()
        let isTaken = [suffix, ".files"].contains { lowercased.hasSuffix($0) }
        let isSafe = isSafe(name, limit: nameLimit) && !isTaken
        return self.name(isSafe ? name : stem(for: name, isFolder: true), number, "", for: name)
    }

    /// The file name of an attachment: `name`, or `name (2).ext` for the number 2, and so on. A
    /// name that is cut keeps its ending.
    package static func attachment(for name: String, number: Int = 1) -> String {
        let isSafe = isSafe(name, limit: nameLimit)
        let whole = isSafe ? name : stem(for: name, isFolder: true, limit: .max)
        let added = number > 1 ? " (\(number))" : ""
        guard !added.isEmpty || whole.utf8.count > nameLimit else { return whole }
        let dot = whole.lastIndex(of: ".").flatMap { $0 > whole.startIndex ? $0 : nil } ?? whole.endIndex
        let ending = added + (whole[dot...].utf8.count <= 32 ? whole[dot...] : "")
        let start = whole[dot...].utf8.count <= 32 ? String(whole[..<dot]) : whole
        return start.prefix(bytes: nameLimit - ending.utf8.count) + ending
    }

    /// Whether a file can be called so: not hidden, no path, and no characters that disturb a
    /// terminal or hide what the name is.
    private static func isSafe(_ name: String, limit: Int) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "."), name.utf8.count <= limit else { return false }
        return !name.unicodeScalars.contains { $0 == "/" || isUnsafe($0) }
    }

    private static func name(_ stem: String, _ number: Int, _ suffix: String, for title: String) -> TaskFileName {
        if number <= 1 { return TaskFileName(name: stem + suffix, carriesTitle: stem.isIdentical(to: title)) }
        let ending = " (\(number))"
        let start = stem.prefix(bytes: maximumBytes - ending.utf8.count)
        return TaskFileName(name: start + ending + suffix, carriesTitle: false)
    }

    private static func stem(for title: String, isFolder: Bool, limit: Int = maximumBytes) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in title.unicodeScalars {
            if scalar == "/" {
                scalars.append("-")
            } else if isUnsafe(scalar) {
                if scalars.last != " " { scalars.append(" ") }
            } else {
                scalars.append(scalar)
            }
        }
        // Compared by scalars: a dot with a combining mark is another character to Swift but still
        // a leading dot to the file system.
        let visible = scalars.drop { $0 == " " || $0 == "." }
        var ending = String(Substring(visible)).prefix(bytes: limit).unicodeScalars[...]
        while let last = ending.last, last == " " || (isFolder && last == ".") { ending.removeLast() }
        var cut = String(Substring(ending))
        if isFolder, cut.lowercased().hasSuffix(".files") { cut = cut.dropLast(6) + "-files" }
        return cut.isEmpty ? "Untitled" : cut
    }

    /// Whether a scalar is a control character, line separator, byte-order mark or a character that
    /// changes the direction of text.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF, 0xFFF9...0xFFFB, 0xFFFE...0xFFFF: true
        default: false
        }
    }
}

extension String {
    /// Returns the longest prefix of whole characters that has at most `limit` bytes.
    fileprivate func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var count = 0
        var result = ""
        for character in self {
            count += character.utf8.count
            guard count <= limit else { break }
            result.append(character)
        }
        return result
    }
}
