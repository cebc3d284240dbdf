/// Why a name cannot be that of a file, or why Ferry would never see the file.
package enum NameProblem: Hashable, Sendable {
    case empty
    /// More than the 255 bytes that Linux's file systems take.
    case tooLong(bytes: Int)
    /// `.` or `..`.
    case reserved
    case containsSlash
    case containsControlCharacter

    /// Nil for a valid name.
    package init?(of name: some StringProtocol) {
        var name = String(name)
        guard let problem = name.withUTF8({ NameProblem.problem(of: $0) }) else { return nil }
        self = problem
    }

    /// That of the first component of a path that has one.
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
            // The controls of ASCII, then those of Latin-1, which UTF-8 writes as C2 80 to C2 9F.
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
