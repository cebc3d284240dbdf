package import SystemIO

/// A refusal or failure of an operation on the tasks directory.
package struct FolderError: Error, Sendable, CustomStringConvertible {
    /// The kind of refusal.
    package enum Code: Sendable {
        /// The tasks directory does not exist.
        case rootMissing
        case notFound
        case exists
        case invalidName
        /// The path names something other than expected: a link, a pipe, or a directory instead of
        /// a file.
        case wrongKind
        /// A parent of the path is a file, a link, or another mount, so nothing below it can be
        /// examined.
        case blockedParent
        case tooLarge
        /// The file changes faster than it can be read; its events will follow.
        case unstable
        case noSpace
        case readOnly
        case notPermitted
        case notEmpty
        case limit
        case other
    }

    package var code: Code
    package var message: String
    package var cause: SystemError?

    package init(_ code: Code, _ message: String, cause: SystemError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    init(_ error: SystemError) {
        let code = FolderError.code(of: error.code)
        let isBlocked = code == .blockedParent
        let remedy = "; a file, a link, or a mount is where one of its directories should be: put the directory back"
        self.init(code, isBlocked ? error.message + remedy : error.message, cause: error)
    }

    package var description: String { message }

    /// Whether the same call may succeed later, without a change or after the missing resource or
    /// the obstacle is dealt with.
    package var isTransient: Bool {
        switch code {
        case .invalidName, .tooLarge: false
        default: true
        }
    }

    private static func code(of code: SystemError.Code) -> Code {
        switch code {
        case .notFound: .notFound
        case .exists: .exists
        case .invalidName: .invalidName
        case .leavesRoot, .notDirectory: .blockedParent
        case .isDirectory, .unsupported: .wrongKind
        case .tooLarge: .tooLarge
        case .noSpace: .noSpace
        case .readOnly: .readOnly
        case .notPermitted: .notPermitted
        case .notEmpty: .notEmpty
        case .tooManyOpenFiles, .watchLimit: .limit
        default: .other
        }
    }
}

/// Runs calls of the disk, and converts their errors to errors of the folder.
func translating<Result>(_ body: () throws(SystemError) -> Result) throws(FolderError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw FolderError(error)
    }
}
