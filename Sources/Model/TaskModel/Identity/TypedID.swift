import DocumentModel

/// The id of one kind of document, so that the compiler keeps ids of different kinds apart.
///
/// Ids are equal only if their bytes are equal. Swift's strings are also equal if they are
/// canonically equivalent, and two such ids name two documents.
public protocol TypedID: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The id as it is in the document's name.
    var rawValue: String { get }

    /// Creates an id of any text. Whether a document can have it is checked where a name is made.
    init(_ rawValue: String)
}

extension TypedID {
    /// Returns whether two ids have the same bytes.
    public static func == (left: Self, right: Self) -> Bool { UTF8Order.areEqual(left.rawValue, right.rawValue) }

    /// Returns whether an id comes first in the order of bytes.
    public static func < (left: Self, right: Self) -> Bool { UTF8Order.precedes(left.rawValue, right.rawValue) }

    /// Hashes consistently with `==`.
    public func hash(into hasher: inout Hasher) { UTF8Order.hash(rawValue, into: &hasher) }

    /// Creates the id that a literal is.
    public init(stringLiteral value: String) { self.init(value) }

    /// The id's text.
    public var description: String { rawValue }
}

/// The id of a task: that of its document, with which its file's attribute `user.ferry.id` begins.
public struct TaskID: TypedID {
    /// The id as it is in the document's name.
    public let rawValue: String

    /// Creates an id of any text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The id of a list's document.
public struct ListID: TypedID {
    /// The id as it is in the document's name.
    public let rawValue: String

    /// Creates an id of any text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The id of an attachment, unique within its task.
public struct AttachmentID: TypedID {
    /// The id as it is in the document's name.
    public let rawValue: String

    /// Creates an id of any text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The id of a user's account, as the identity service gives it.
public struct UserID: TypedID {
    /// The id as it is in the fields of documents.
    public let rawValue: String

    /// Creates an id of any text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// The id of a replica: a client's copy of the documents, of which each machine has one.
public struct ReplicaID: TypedID {
    /// The id as it is in the fields of documents.
    public let rawValue: String

    /// Creates an id of any text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}
