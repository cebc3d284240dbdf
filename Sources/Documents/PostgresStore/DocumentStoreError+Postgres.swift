import DocumentStore
import PostgreSQL

extension DocumentStoreError {
    /// Creates the error that reports an error of PostgreSQL, or of another layer, to clients.
    init(ofPostgres error: any Error) {
        guard let error = error as? PostgresError else {
            self.init(error)
            return
        }
        let (code, message): (Code, String) =
            if error.isOutOfResources {
                (.resourceExhausted, "The server's disk or memory is full; nothing of this change was kept.")
            } else if error.isDisconnected || error.isReadOnly || error.state?.hasPrefix("40") == true
                || error.state?.hasPrefix("25") == true || error.state?.hasPrefix("57") == true
            {
                (.unavailable, "The server cannot use its data now; its log has the reason.")
            } else {
                (.internal, "The server failed; its log has the reason.")
            }
        self.init(code, message, cause: error.description)
    }
}
