import SystemIO

extension FileLock {
    /// Returns the lock of a state file. Two clients of one file would both send its changes, and
    /// count an increment twice.
    ///
    /// - Throws: `DocumentClientError` with `inUse` if another client or process holds it.
    static func acquire(stateFile path: String) throws -> FileLock {
        do {
            if let lock = try acquire("\(path).lock") { return lock }
        } catch {
            throw DocumentClientError(.storage, "The state file \(path) cannot be locked: \(error)", cause: error)
        }
        throw DocumentClientError(
            .inUse, "The state file \(path) is open in another client or process. Close that one first.")
    }
}
