package import SystemIO

/// What a tasks directory refused to do.
package struct FolderError: Error, Sendable, CustomStringConvertible {
    /// The kind of refusal.
    package enum Code: Sendable {
        /// The tasks directory is not there.
        case rootMissing
        case notFound
        case exists
        case invalidName
        /// The path names something other than what was asked for: a link, a pipe, or a directory instead of a file.
        case wrongKind
        /// A component above the path is a file, a link, or another mount, so nothing beneath it can be examined.
        case blockedParent
        case tooLarge
        /// It changes faster than it can be read; its events will come.
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

    /// Whether the same call may succeed later by itself, or when somebody frees what lacks or
    /// takes away what is in the way.
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

/// Runs calls of the disk and turns what they throw into errors of the folder.
func translating<Result>(_ body: () throws(SystemError) -> Result) throws(FolderError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw FolderError(error)
    }
}
