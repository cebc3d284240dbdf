import DocumentClient
import DocumentCoding
import DocumentModel
import ObjectStorage
import SQLite

/// An operation that could not be performed. `message` says what failed and what to do; it contains
/// no content of documents.
public struct FerryError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: Sendable, Hashable {
        /// The operation needs an account, and nobody is signed in.
        case notSignedIn
        /// The server cannot be reached. The operation may be tried again.
        case offline
        /// The security rules of the server do not allow it.
        case notAllowed
        /// The account, a document or a request is greater than the server accepts.
        case tooLarge
        /// The document does not exist.
        case notFound
        /// The call cannot succeed in this form: a key path that is no field, an invalid query.
        case invalid
        /// Others changed the same documents in every attempt of a transaction.
        case contention
        /// The server rejected a write. It is kept until it is retried or discarded; see
        /// `Ferry.refusals`.
        case rejected
        /// A write was discarded before the server had it.
        case discarded
        /// The directory with the state cannot be read or written, or is damaged.
        case storage
        /// Another process or another `Ferry` uses the directory with the state.
        case inUse
        /// The `Ferry` was closed, or the account was signed out.
        case closed
        /// A file could not be transferred.
        case file
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

    /// Whether the same call may succeed later without a change.
    public var isTransient: Bool { code == .offline || code == .contention }
}

extension FerryError {
    /// Returns the error that callers see for one of the layers below.
    static func describing(_ error: any Error) -> any Error {
        switch error {
        case let error as DocumentClientError: FerryError(code(of: error.code), error.message, cause: error)
        case let error as RemoteError: FerryError(code(of: error.code), error.message, cause: error)
        case let error as ObjectStorageError: FerryError(code(of: error.code), error.message, cause: error)
        case let error as NameError: FerryError(.invalid, error.message, cause: error)
        case let error as FieldNameError: FerryError(.invalid, error.message, cause: error)
        case let error as SQLiteError: FerryError(.storage, error.message, cause: error)
        default: error
        }
    }

    private static func code(of code: DocumentClientError.Code) -> Code {
        switch code {
        case .invalid: .invalid
        case .notFound: .notFound
        case .inUse: .inUse
        case .closed: .closed
        case .contention: .contention
        case .rejected: .rejected
        case .discarded: .discarded
        default: .storage
        }
    }

    private static func code(of code: ObjectStorageError.Code) -> Code { code.isTransient ? .offline : .file }

    private static func code(of code: RemoteError.Code) -> Code {
        switch code {
        case .transient, .overloaded: .offline
        case .contention, .precondition: .contention
        case .unauthenticated: .notSignedIn
        case .permission: .notAllowed
        case .tooLarge, .quota: .tooLarge
        case .notFound: .notFound
        default: .invalid
        }
    }

    /// Runs `body`, and describes what it throws.
    nonisolated(nonsending) static func translating<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        do { return try await body() } catch { throw describing(error) }
    }

    /// Runs `body`, and describes what it throws.
    static func translating<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw describing(error) }
    }
}
