import SystemIO

/// A directory of the test that is removed together with this object.
final class TemporaryDirectory {
    let path: String
    let directory: Directory

    /// Creates the directory.
    ///
    /// - Parameter isLarge: Whether it is for thousands of files, and therefore in memory if
    ///   possible, so that a slow disk makes no difference.
    init(isLarge: Bool = false) throws {
        let base = isLarge && FileSystem.exists("/dev/shm") ? "/dev/shm" : "/tmp"
        path = base + "/ferry-test-" + SystemRandom.hex(8)
        try FileSystem.makeDirectories(path, mode: 0o700)
        directory = try Directory(path: path)
    }

    deinit { try? FileSystem.removeTree(path) }

    var names: [String] {
        get throws { try directory.entries().map(\.name).sorted() }
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func code(of body: () throws -> Void) -> SystemError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SystemError)?.code
    }
}
