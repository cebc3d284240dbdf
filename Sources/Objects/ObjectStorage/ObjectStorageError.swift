/// What went wrong with an object, a file or a transfer.
///
/// Messages name the path, the key or the id concerned and what to do about it; they never carry contents or secrets.
public struct ObjectStorageError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it is, and so what the caller can do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case notFound, transient, permission, full, corrupt, sourceChanged, invalid, cancelled, unavailable
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// The code with that description; `.unavailable` for any other text.
        init(named name: String) { value = Value(rawValue: name) ?? .unavailable }

        public var description: String { value.rawValue }

        /// No such object, file or bucket. Asking again will not help.
        public static let notFound = Code(.notFound)
        /// The network, a busy server or a stale clock: the same call may well succeed a little later.
        public static let transient = Code(.transient)
        /// The keys are unknown, expired or not good for this object, or the file may not be read or written.
        public static let permission = Code(.permission)
        /// The disk or the quota is used up.
        public static let full = Code(.full)
        /// Bytes that are not what their hash, header or manifest says.
        public static let corrupt = Code(.corrupt)
        /// The file changed while it was read; nothing was published. Upload it again once it rests.
        public static let sourceChanged = Code(.sourceChanged)
        /// The request itself cannot be served: an unusable key, an unknown format version, a limit exceeded.
        public static let invalid = Code(.invalid)
        /// The transfer was cancelled by its owner.
        public static let cancelled = Code(.cancelled)
        /// Any other failure of the system or the server, which is not known to pass.
        public static let unavailable = Code(.unavailable)

        /// Whether the same call, unchanged, may succeed later.
        public var isTransient: Bool { self == .transient }
    }

    public let code: Code
    public let message: String
    public let cause: (any Error)?
    /// How long the other side asks to be left alone before the next try.
    public let retryAfter: Duration?

    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter
    }

    public var description: String { message }
}
