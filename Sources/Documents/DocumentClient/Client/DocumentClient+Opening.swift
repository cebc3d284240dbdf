import DocumentModel

extension DocumentClient {
    /// Opens a state file for a database, and creates it if necessary. Call `run` to synchronize
    /// it.
    public static func open(
        path: String, remote: FirestoreRemote.Configuration, options: ClientOptions = ClientOptions()
    ) throws -> DocumentClient {
        try DocumentClient(
            path: path, database: remote.database, remote: FirestoreRemote(remote), options: options)
    }
}
