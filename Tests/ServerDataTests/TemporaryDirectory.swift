import SystemIO

/// A directory that is removed when the value is released.
final class TemporaryDirectory: Sendable {
    let path = "/tmp/ferry-server-\(SystemRandom.hex(8))"

    init() throws { try FileSystem.makeDirectories(path, mode: 0o700) }

    deinit { try? FileSystem.removeTree(path) }
}
