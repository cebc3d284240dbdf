/// An operation that the kernel, or a check before the system call, refused: the operation, the
/// path and a remedy.
package struct SystemError: Error, Sendable {
    /// The kind of failure. Stable across kernels; `errno` holds the kernel's number.
    package struct Code: Hashable, Sendable {
        package let name: String

        private init(_ name: String) { self.name = name }

        package static let notFound = Code("not found")
        package static let exists = Code("exists")
        package static let notPermitted = Code("not permitted")
        package static let noSpace = Code("no space")
        package static let readOnly = Code("read-only")
        package static let tooManyOpenFiles = Code("too many open files")
        package static let watchLimit = Code("watch limit")
        package static let isDirectory = Code("is a directory")
        package static let notDirectory = Code("not a directory")
        package static let notEmpty = Code("not empty")
        package static let invalidName = Code("invalid name")
        package static let leavesRoot = Code("leaves root")
        package static let unsupported = Code("unsupported")
        package static let tooLarge = Code("too large")
        package static let busy = Code("busy")
        package static let damagedMedium = Code("input/output error")
        package static let addressInUse = Code("address in use")
        package static let unreachable = Code("unreachable")
        package static let closed = Code("closed")
        package static let timedOut = Code("timed out")
        package static let other = Code("other")
    }

    package var code: Code
    /// The number from errno(3); 0 if a check before the system call failed.
    package var errno: Int32
    /// The failed operation as an infinitive: "open", "replace", "watch".
    package var operation: String
    package var path: String?
    /// One sentence that says what a person can do about the failure, if anything.
    package var remedy: String?

    package init(
        _ code: Code, errno: Int32 = 0, operation: String, path: String? = nil, remedy: String? = nil
    ) {
        self.code = code
        self.errno = errno
        self.operation = operation
        self.path = path
        self.remedy = remedy
    }
}

extension SystemError {
    /// Whether the same call may succeed later without a change to the request: after space was
    /// freed on a full disk, a busy file was closed, or other processes released a limited
    /// resource.
    package var isTransient: Bool {
        switch code {
        case .noSpace, .tooManyOpenFiles, .busy, .watchLimit, .timedOut, .unreachable, .damagedMedium: true
        default: false
        }
    }
}

extension SystemError: CustomStringConvertible {
    package var message: String {
        let place = path.map { " \($0)" } ?? ""
        let reason = errno == 0 ? code.name : SystemError.text(of: errno)
        return "cannot \(operation)\(place): \(reason)" + (remedy.map { ". \($0)" } ?? "")
    }

    package var description: String { message }
}
