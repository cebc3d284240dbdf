package import SystemIO

/// A directory of a test, removed with all that is in it when this object is released.
package final class TemporaryDirectory: Sendable {
    package let path: String
    package let directory: Directory

    /// Creates the directory.
    ///
    /// - Parameter isLarge: Whether it is for thousands of files, and therefore in memory if
    ///   possible, so that a slow disk makes no difference.
    package init(isLarge: Bool = false) throws {
        let base = isLarge && FileSystem.exists("/dev/shm") ? "/dev/shm" : "/tmp"
        path = "\(base)/ferry-test-\(SystemRandom.hex(8))"
        try FileSystem.makeDirectories(path, mode: 0o700)
        directory = try Directory(path: path)
    }

    deinit { try? FileSystem.removeTree(path) }

    /// The names of the files and directories in it.
    package var names: [String] {
        get throws { try directory.entries().map(\.name).sorted() }
    }

    /// Returns the path of a name in this directory.
    package func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Creates a directory for the closure, and removes it with all that is in it afterwards.
package func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    try await body(directory.path)
    withExtendedLifetime(directory) {}
}
