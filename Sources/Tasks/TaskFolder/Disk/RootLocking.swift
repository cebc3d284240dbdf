package import SystemIO

/// A lock that keeps other processes from the tasks directory while it is open.
package protocol RootLocking: Sendable {
    /// Takes the lock, unless this process has it.
    ///
    /// - Throws: `.busy` if another process has it.
    func take() throws(SystemError)

    func release()
}
