/// An error of an operation on an object, a file or a transfer.
///
/// Messages name the path, the key or the id and say what to do; they never contain content or
/// secrets.
public struct ObjectStorageError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error, which decides how the caller can react.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case notFound, transient, permission, full, corrupt, sourceChanged, invalid, cancelled, unavailable
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// Creates the code with this description; `.unavailable` for any other text.
        init(named name: String) { value = Value(rawValue: name) ?? .unavailable }

        /// The name of the code.
        public var description: String { value.rawValue }

        /// The object, the file or the bucket does not exist. A retry does not help.
        public static let notFound = Code(.notFound)
        /// The network, a busy server or a wrong clock. The same call may succeed a little later.
        public static let transient = Code(.transient)
        /// The credentials are unknown, expired or not valid for the object, or the file may not be
        /// read or written.
        public static let permission = Code(.permission)
        /// The disk or the quota is full.
        public static let full = Code(.full)
        /// The bytes do not match their hash, header or manifest.
        public static let corrupt = Code(.corrupt)
        /// The file changed while it was read. Nothing was published; upload the file again once it
        /// no longer changes.
        public static let sourceChanged = Code(.sourceChanged)
        /// The request is invalid: an unusable key, an unknown format version, or a limit that is
        /// exceeded.
        public static let invalid = Code(.invalid)
        /// The transfer was cancelled by its owner.
        public static let cancelled = Code(.cancelled)
        /// Any other failure of the system or the server. It is not known to pass.
        public static let unavailable = Code(.unavailable)

        /// Whether the same call may succeed later without changes.
        public var isTransient: Bool { self == .transient }
    }

    /// The kind of the error.
    public let code: Code
    /// The message for the user.
    public let message: String
    /// The error that caused this one.
    public let cause: (any Error)?
    /// The time that the server asks to wait before the next attempt; nil if it does not say.
    public let retryAfter: Duration?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// The message.
    public var description: String { message }
}
