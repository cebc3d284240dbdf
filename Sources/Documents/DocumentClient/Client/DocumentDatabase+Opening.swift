import DocumentModel

extension DocumentDatabase {
    /// Opens, or makes, a state file for a database. Call `run` to keep it in step.
    public static func open(
        path: String, remote: FirestoreRemote.Configuration, options: ClientOptions = ClientOptions()
    ) throws -> DocumentDatabase {
        try DocumentDatabase(
            path: path, database: remote.database, remote: FirestoreRemote(remote), options: options)
    }
}
