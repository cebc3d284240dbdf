import DocumentModel
import FirestoreProtocol
import SQLite

extension DocumentStoreError {
    package static let closed = DocumentStoreError(.unavailable, "The document store is closed.")

    /// Creates the error that reports an error of a lower layer to clients.
    package init(_ error: any Error) {
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
            self.init(
                .dataLoss, "A stored document cannot be read.",
                cause: "A stored document cannot be read (\(error)). Run the check of the database.")
        case let error as StoredDataError:
            self.init(
                .dataLoss, "A stored document cannot be read.",
                cause: "\(error) Other documents are not affected; 'ferry-server check' lists all that are damaged.")
        case is CancellationError:
            self.init(.aborted, "The call was cancelled.")
        default:
            self.init(.internal, "The server failed; its log has the reason.", cause: "\(error)")
        }
    }

    private init(_ error: SQLiteError) {
        let (code, message): (Code, String) =
            switch error.code {
            case .full: (.resourceExhausted, "The server's disk is full; nothing of this change was kept.")
            // Not DATA_LOSS, which concerns a single document: clients keep their changes and try
            // again.
            case .corrupt, .damagedRow: (.unavailable, "The server's data is damaged; its log has the reason.")
            case .busy, .interrupted, .misuse, .readOnly, .cannotOpen, .inputOutput:
                (.unavailable, "The server cannot use its data now; its log has the reason.")
            default: (.internal, "The server failed; its log has the reason.")
            }
        self.init(code, message, cause: error.description)
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
