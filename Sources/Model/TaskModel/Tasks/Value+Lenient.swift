import DocumentModel

extension Value {
    /// An integer, or a double that is one (JavaScript clients write numbers as they come).
    var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// A timestamp, or a string in RFC 3339.
    var time: Timestamp? {
        switch self {
        case .timestamp(let value): value
        case .string(let text): Timestamp(rfc3339: text)
        default: nil
        }
    }
}

extension String {
    /// Swift's `==` takes canonically equivalent texts for equal; files and documents do not.
    func isIdentical(to other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
