import DocumentModel

extension DocumentClient {
    /// Opens, or makes, a state file for a database. Call `run` to keep it in step.
    public static func open(
        path: String, remote: FirestoreRemote.Configuration, options: ClientOptions = ClientOptions()
    ) throws -> DocumentClient {
        try DocumentClient(
            path: path, database: remote.database, remote: FirestoreRemote(remote), options: options)
    }
}
