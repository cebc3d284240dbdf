import DocumentModel
import FirestoreProtocol
import SQLite

extension DocumentStoreError {
    static let closed = DocumentStoreError(.unavailable, "The document store is closed.")

    /// What went wrong below, in the store's terms.
    init(_ error: any Error) {
        switch error {
        case let error as DocumentStoreError:
            self = error
        case let error as WriteError:
            self.init(Code(error.code), error.message)
        case let error as QueryError:
            self.init(.invalidArgument, error.message)
        case let error as NameError:
            self.init(.invalidArgument, error.message)
        case let error as SQLiteError:
            self.init(error)
        case let error as ProtocolError:
            self.init(.dataLoss, "A stored document cannot be read (\(error)). Run the check of the database.")
        case let error as StoredDataError:
            self.init(.dataLoss, "\(error) Run the check of the database.")
        case is CancellationError:
            self.init(.aborted, "The call was cancelled.")
        default:
            self.init(.internal, "\(error)")
        }
    }

    private init(_ error: SQLiteError) {
        switch error.code {
        case .full: self.init(.resourceExhausted, error.message)
        case .corrupt: self.init(.dataLoss, error.message)
        case .busy, .interrupted, .misuse: self.init(.unavailable, error.message)
        case .readOnly, .cannotOpen, .inputOutput: self.init(.unavailable, error.message)
        default: self.init(.internal, error.description)
        }
    }
}

extension DocumentStoreError.Code {
    init(_ code: WriteError.Code) {
        switch code {
        case .invalidArgument: self = .invalidArgument
        case .notFound: self = .notFound
        case .alreadyExists: self = .alreadyExists
        case .failedPrecondition: self = .failedPrecondition
        }
    }
}
