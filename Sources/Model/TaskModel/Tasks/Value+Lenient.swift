import DocumentModel

extension Value {
    /// An integer, or a double without a fraction, which JavaScript clients write for integers.
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
    /// Returns whether two strings have the same bytes. Swift's `==` considers canonically
    /// equivalent strings equal; files and documents do not.
    func isIdentical(to other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
