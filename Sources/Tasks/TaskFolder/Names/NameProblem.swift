/// The reason why a name cannot be that of a file, or why Ferry would ignore the file.
package enum NameProblem: Hashable, Sendable {
    case empty
    /// The name has more than the 255 bytes that Linux's file systems allow.
    case tooLong(bytes: Int)
    /// The name is `.` or `..`.
    case reserved
    case containsSlash
    case containsControlCharacter

    /// Examines a name; nil if it is valid.
    package init?(of name: some StringProtocol) {
        var name = String(name)
        guard let problem = name.withUTF8({ NameProblem.problem(of: $0) }) else { return nil }
        self = problem
    }

    /// Examines a path, and returns the problem of the first component that has one.
    init?(ofComponentsOf path: String) {
        var path = path
        let problem = path.withUTF8 { path -> NameProblem? in
            var start = 0
            for end in 0...path.count where end == path.count || path[end] == UInt8(ascii: "/") {
                let name = UnsafeBufferPointer(rebasing: path[start..<end])
                if let problem = NameProblem.problem(of: name) { return problem }
                start = end + 1
            }
            return nil
        }
        guard let problem else { return nil }
        self = problem
    }

    private static func problem(of name: UnsafeBufferPointer<UInt8>) -> NameProblem? {
        if name.isEmpty { return .empty }
        if name.count > 255 { return .tooLong(bytes: name.count) }
        if name.count <= 2, name.allSatisfy({ $0 == UInt8(ascii: ".") }) { return .reserved }
        var before: UInt8 = 0
        for byte in name {
            if byte == UInt8(ascii: "/") { return .containsSlash }
            // The controls of ASCII, and those of Latin-1, which are C2 80 to C2 9F in UTF-8.
            if byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte <= 0x9F) { return .containsControlCharacter }
            before = byte
        }
        return nil
    }

    package var description: String {
        switch self {
        case .empty: "a name is empty"
        case .tooLong(let bytes): "a name has \(bytes) bytes, at most 255 are possible"
        case .reserved: "the names . and .. are taken by the file system"
        case .containsSlash: "a name holds a slash"
        case .containsControlCharacter: "a name holds a control character"
        }
    }
}
