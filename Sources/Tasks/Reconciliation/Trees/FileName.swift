/// A name as bytes: of a file, a directory, or the one that a document asks for.
///
/// Names are equal only if their bytes are equal, because a file system keeps `é` as one code point
/// and as two apart. They are therefore never compared as strings.
package struct FileName: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ string: String) { bytes = Array(string.utf8) }

    /// The name as text. Bytes that are not UTF-8 are replaced, so this is for display and for names
    /// that come from documents, which are always UTF-8.
    package var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension FileName: Comparable {
    package static func < (left: FileName, right: FileName) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension FileName: CustomStringConvertible {
    package var description: String { string }
}

/// A place for one file: a name in a directory.
///
/// A directory is given as the node to which it belongs, so that a renamed list is one change and
/// not one for each task in it.
package struct Location: Hashable, Sendable {
    /// The list or task in whose directory the file is; `nil` for the tasks directory itself.
    package var directory: NodeID?
    package var fileName: FileName

    package init(_ directory: NodeID?, _ fileName: FileName) {
        self.directory = directory
        self.fileName = fileName
    }
}

extension Location: Comparable {
    /// Orders locations by directory, then by name: an arbitrary order that is the same everywhere.
    package static func < (left: Location, right: Location) -> Bool {
        switch (left.directory, right.directory) {
        case (nil, nil): left.fileName < right.fileName
        case (nil, _?): true
        case (_?, nil): false
        case (let a?, let b?): a == b ? left.fileName < right.fileName : a < b
        }
    }
}
