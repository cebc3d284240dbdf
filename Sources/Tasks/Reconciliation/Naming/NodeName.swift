import TaskModel

/// The names of files and directories, made of the names that documents ask for, and back.
package enum NodeName {
    /// Returns the name of a node's file: the wanted name made fit for a file, with a number above 1
    /// in parentheses.
    static func fileName(of kind: NodeKind, for name: FileName, number: Int = 1) -> FileName {
        if number == 1, isPlain(name, kind) { return kind == .task ? FileName(bytes: name.bytes + taskEnd) : name }
        switch kind {
        case .task: return FileName(TaskFileName.file(for: name.string, number: number).name)
        case .list: return FileName(directory(for: name.string, number: number))
        case .attachment: return FileName(TaskFileName.attachment(for: name.string, number: number))
        }
    }

    /// Returns the name that a file asks for by its own name.
    static func wanted(of kind: NodeKind, by fileName: FileName) -> FileName {
        guard kind == .task, fileName.bytes.count > taskEnd.count, fileName.bytes.suffix(3).elementsEqual(taskEnd)
        else { return fileName }
        return FileName(bytes: Array(fileName.bytes.dropLast(taskEnd.count)))
    }

    /// Whether a file can have exactly the wanted name. Such a node comes before others for whom the
    /// same name was made of another one.
    static func isExact(_ name: FileName, _ kind: NodeKind) -> Bool {
        isPlain(name, kind) || wanted(of: kind, by: fileName(of: kind, for: name)) == name
    }

    /// Returns the location that a state asks for, before other nodes that ask for it are considered.
    static func plainLocation(of kind: NodeKind, _ state: NodeState) -> Location {
        Location(state.parent, fileName(of: kind, for: state.name))
    }

    /// Returns the wanted name without a number in parentheses, if `name` ends in one: `Name` of
    /// `Name (2)`.
    static func unnumbered(_ name: FileName) -> FileName? {
        guard name.bytes.last == UInt8(ascii: ")"), let open = name.bytes.lastIndex(of: UInt8(ascii: "(")), open > 1,
            name.bytes[open - 1] == UInt8(ascii: " "), open + 2 < name.bytes.count,
            name.bytes[(open + 1)...].dropLast().allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return FileName(bytes: Array(name.bytes[..<(open - 1)]))
    }

    /// Whether a file can be called exactly so: printable ASCII of ordinary length. Most names are,
    /// and need no look at their characters.
    private static func isPlain(_ name: FileName, _ kind: NodeKind) -> Bool {
        guard let first = name.bytes.first, first != UInt8(ascii: "."), name.bytes.count <= 200 else { return false }
        let isDirectory = kind == .list
        for byte in name.bytes {
            guard (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "/") else { return false }
            // Endings such as `.md` and `~`, and names such as `#x#` and `4913`, are not for directories.
            if isDirectory, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") || byte == UInt8(ascii: "#") {
                return false
            }
        }
        return !isDirectory || !name.bytes.elementsEqual("4913".utf8)
    }

    /// Returns the name of a list's directory. One named like a task file, or like a temporary file of an
    /// editor's, would not count as a list.
    package static func directory(for name: String, number: Int) -> String {
        var name = TaskFileName.folder(for: name, number: number).name
        if name.lowercased().hasSuffix(TaskFileName.suffix) { name = name.dropLast(TaskFileName.suffix.count) + "-md" }
        let isTemporary = temporaryEnds.contains { name.hasSuffix($0) } || name == "4913"
        return isTemporary || name.hasPrefix("#") && name.hasSuffix("#") ? "\(name)-" : name
    }

    private static let taskEnd = Array(TaskFileName.suffix.utf8)
    private static let temporaryEnds = ["~", ".swp", ".swo", ".swx", ".tmp", ".part", ".crdownload"]
}
