/// The full name of a document: a database and a path with an even number of segments (`tasks/abc`,
/// `tasks/abc/history/x`).
///
/// An id is valid UTF-8 of 1 to 1500 bytes without `/`. It is not `.` or `..`, and not reserved
/// (`__…__`), except for the numeric ids `__id<int64>__`, which only cursors may contain. Names are
/// equal if their bytes are equal: Unicode normalization forms are distinct.
public struct DocumentName: Sendable, Hashable, CustomStringConvertible {
    /// The database that contains the document.
    public let database: DatabaseName
    /// The path below `…/documents`: segments joined by `/`.
    public let path: String

    /// Creates a name and checks every segment of `path`.
    public init(database: DatabaseName, path: String) throws(NameError) {
        guard path.utf8.count <= 6144 else { throw NameError("Document name is longer than 6144 bytes.") }
        let plain = Self.plainSegments(path)
        let count = if let plain { plain } else { try Self.checkedSegments(path) }
        guard count % 2 == 0 else {
            throw NameError("Document name \"\(path.prefix(200))\" lacks \"/\" at index \(path.utf8.count).")
        }
        guard count <= 200 else { throw NameError("Document name is deeper than 100 collections.") }
        self.database = database
        self.path = path
    }

    /// Creates a name by parsing a full resource name,
    /// `projects/{p}/databases/{d}/documents/{path}`.
    public init(parsing name: String) throws(NameError) {
        let (database, path) = try Self.split(name)
        guard let path else {
            throw NameError("Document name \"\(name.prefix(200))\" lacks \"/\" at index \(name.utf8.count).")
        }
        try self.init(database: database, path: path)
    }

    /// Creates the name of a document in a collection, and checks both parts.
    public init(database: DatabaseName, collection: String, id: String) throws(NameError) {
        try self.init(database: database, path: "\(collection)/\(id)")
    }

    /// The last segment.
    public var id: String {
        guard let slash = lastSlash else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }

    /// The path of the collection that contains the document: `tasks`, `tasks/abc/history`.
    public var collectionPath: String { String(collection) }

    /// The last segment of `collectionPath`.
    public var collectionID: String {
        let collection = collection
        guard let slash = collection.utf8.lastIndex(of: UInt8(ascii: "/")) else { return String(collection) }
        return String(collection[collection.utf8.index(after: slash)...])
    }

    /// The document that contains the collection of this one; nil for a document in a top-level
    /// collection.
    public var parent: DocumentName? {
        let collection = collection
        guard let slash = collection.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return DocumentName(database: database, checkedPath: String(collection[..<slash]))
    }

    /// The top-level document above this one; nil for a top-level document.
    package var root: DocumentName? {
        guard var root = parent else { return nil }
        while let parent = root.parent { root = parent }
        return root
    }

    /// The segments of the path, collection and document ids in turn.
    public var segments: [Substring] { path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

    /// Whether a segment is a numeric id, which is allowed in a cursor but not in the name of a
    /// document to be written.
    public var isNumeric: Bool { segments.contains { Self.isNumericID($0) } }

    /// The full resource name.
    public var description: String { "\(database.documentsRoot)/\(path)" }

    /// Returns whether two names have the same bytes.
    public static func == (left: DocumentName, right: DocumentName) -> Bool {
        UTF8Order.areEqual(left.path, right.path) && left.database == right.database
    }

    /// Hashes the bytes of the path.
    public func hash(into hasher: inout Hasher) {
        UTF8Order.hash(path, into: &hasher)
    }

    private init(database: DatabaseName, checkedPath: String) {
        self.database = database
        path = checkedPath
    }

    private var lastSlash: String.Index? { path.utf8.lastIndex(of: UInt8(ascii: "/")) }

    private var collection: Substring { path[..<(lastSlash ?? path.endIndex)] }

    /// Returns the number of segments if all of them are valid at a glance; otherwise nil. This
    /// spares almost all names the slower check.
    private static func plainSegments(_ path: String) -> Int? {
        let count: Int?? = path.utf8.withContiguousStorageIfAvailable { bytes in
            var count = 1
            var length = 0
            for byte in bytes {
                if byte == UInt8(ascii: "/") {
                    guard length > 0 else { return nil }
                    count += 1
                    length = 0
                } else {
                    if length == 0, byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".") { return nil }
                    length += 1
                    guard length <= 1500 else { return nil }
                }
            }
            return length > 0 ? count : nil
        }
        return count ?? nil
    }

    private static func checkedSegments(_ path: String) throws(NameError) -> Int {
        var count = 0
        var rest = path.utf8[...]
        while true {
            let end = rest.firstIndex(of: UInt8(ascii: "/"))
            try check(Substring(rest[..<(end ?? rest.endIndex)]), isCollection: count % 2 == 0)
            count += 1
            guard let end else { return count }
            rest = rest[rest.index(after: end)...]
        }
    }

    /// Splits a full name into the database and the path below `/documents`, which is nil if the
    /// name ends there.
    static func split(_ name: String) throws(NameError) -> (DatabaseName, String?) {
        var name = name
        let parts = name.withUTF8 { bytes in
            bytes.split(separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false).map {
                String(decoding: UnsafeBufferPointer(rebasing: $0), as: UTF8.self)
            }
        }
        for (index, label) in [(0, "projects"), (2, "databases"), (4, "documents")] {
            guard index < parts.count, UTF8Order.areEqual(parts[index], label) else {
                throw NameError("Document name \"\(name.prefix(200))\" lacks \"\(label)\" at index \(index).")
            }
        }
        let database = try DatabaseName(project: parts[1][...], database: parts[3][...])
        return (database, parts.count == 6 ? parts[5] : nil)
    }

    /// Throws if a text is not a valid id.
    ///
    /// - Parameter isCollection: selects the wording of the error.
    package static func check(_ id: Substring, isCollection: Bool) throws(NameError) {
        let what = isCollection ? "Collection id" : "Resource id"
        let bytes = id.utf8
        guard let first = bytes.first else { throw NameError("\(what) \"\" is invalid because it is empty.") }
        guard bytes.count <= 1500 else { throw NameError("The key path element name is longer than 1500 bytes.") }
        if first == UInt8(ascii: ".") {
            guard id != ".", id != ".." else { throw NameError("\(what) \"\(id)\" is invalid.") }
        }
        guard !isReserved(id) || isNumericID(id) else {
            throw NameError("\(what) \"\(id)\" is invalid because it is reserved.")
        }
        guard !bytes.contains(UInt8(ascii: "/")) else {
            throw NameError("\(what) \"\(id)\" is invalid because it contains \"/\".")
        }
    }

    /// Whether an id has the form `__…__` with at least one byte in between. Four underscores alone
    /// are allowed.
    package static func isReserved(_ id: Substring) -> Bool {
        let bytes = id.utf8
        return bytes.first == UInt8(ascii: "_") && bytes.count > 4 && bytes.starts(with: "__".utf8)
            && bytes.suffix(2).elementsEqual("__".utf8)
    }

    /// Whether an id is a Datastore numeric id, `__id<int64>__`. Numeric ids sort before all other
    /// ids and may occur only in cursors.
    package static func isNumericID(_ id: Substring) -> Bool { numericID(id) != nil }

    package static func numericID(_ id: Substring) -> Int64? {
        guard id.utf8.starts(with: "__id".utf8), isReserved(id) else { return nil }
        let digits = id.utf8.dropFirst(4).dropLast(2)
        // Only the canonical spelling is accepted, so that ids and numbers have the same order.
        guard let number = Int64(Substring(digits)), digits.elementsEqual(String(number).utf8) else { return nil }
        return number
    }
}
