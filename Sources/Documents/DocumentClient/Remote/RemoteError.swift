/// Why the remote did not do what it was asked, by what the caller can do about it.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case transient, overloaded, contention, unauthenticated, permission, precondition, invalid, tooLarge, quota
            case notFound, damaged
        }

        private let kind: Kind

        /// Unreachable, timed out, or failed inside. The outcome of a commit is unknown; asking again is safe.
        public static let transient = Code(kind: .transient)
        /// As `transient`, and the remote asks for patience (a quota, or too many requests).
        public static let overloaded = Code(kind: .overloaded)
        /// Another client held a document that the request needed. Nothing was changed.
        public static let contention = Code(kind: .contention)
        /// Nobody is signed in, or the token was refused. Nothing was changed.
        public static let unauthenticated = Code(kind: .unauthenticated)
        /// The rules refuse it to this account. Nothing was changed.
        public static let permission = Code(kind: .permission)
        /// A document is not in the version (or not there, or there) that a write asked for. Nothing was changed.
        public static let precondition = Code(kind: .precondition)
        /// The request can never succeed as it is. Nothing was changed.
        public static let invalid = Code(kind: .invalid)
        /// A document or a request is above the remote's limits. Nothing was changed.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The account would hold more than it may. Nothing was changed; it can succeed once there is room.
        public static let quota = Code(kind: .quota)
        /// The database does not exist.
        public static let notFound = Code(kind: .notFound)

        /// A document that the request needs cannot be read by the remote. Nothing was changed.
        public static let damaged = Code(kind: .damaged)

        /// Whether the same request may succeed later without anybody's help.
        public var isTransient: Bool { self == .transient || self == .overloaded || self == .contention }

        /// Whether the remote may be out of reach.
        var isOffline: Bool { self == .transient || self == .overloaded }

        public var description: String { kind.rawValue }
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?

    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { message }
}
