/// The failure of a request to the remote, classified by what the caller can do.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case transient, overloaded, contention, unauthenticated, permission, precondition, invalid, tooLarge, quota
            case notFound, damaged
        }

        private let kind: Kind

        /// The remote was unreachable, timed out, or failed internally. The outcome of a commit is
        /// unknown; it is safe to try again.
        public static let transient = Code(kind: .transient)
        /// The same as `transient`, but the remote asks to wait (a quota, or too many requests).
        public static let overloaded = Code(kind: .overloaded)
        /// Another client held a document that the request needed. Nothing was changed.
        public static let contention = Code(kind: .contention)
        /// No user is signed in, or the token was refused. Nothing was changed.
        public static let unauthenticated = Code(kind: .unauthenticated)
        /// The security rules do not allow it for this account. Nothing was changed.
        public static let permission = Code(kind: .permission)
        /// A document does not have the version, or the existence, that a write requires. Nothing
        /// was changed.
        public static let precondition = Code(kind: .precondition)
        /// The request cannot succeed in this form. Nothing was changed.
        public static let invalid = Code(kind: .invalid)
        /// A document or a request exceeds the remote's limits. Nothing was changed.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The account would exceed its quota. Nothing was changed; the request can succeed once
        /// space is freed.
        public static let quota = Code(kind: .quota)
        /// The database does not exist.
        public static let notFound = Code(kind: .notFound)

        /// The remote cannot read a document that the request needs. Nothing was changed.
        public static let damaged = Code(kind: .damaged)

        /// Whether the same request may succeed later without a change.
        public var isTransient: Bool { self == .transient || self == .overloaded || self == .contention }

        /// Whether the remote may be unreachable.
        var isOffline: Bool { self == .transient || self == .overloaded }

        /// The name of the kind.
        public var description: String { kind.rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The description of the failure.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The same as `message`.
    public var description: String { message }
}
