import SystemIO

/// A directory that is gone with the value.
final class TemporaryDirectory: Sendable {
    let path = "/tmp/ferry-s3-\(SystemRandom.hex(8))"

    init() throws { try FileSystem.makeDirectories(path, mode: 0o700) }

    deinit { try? FileSystem.removeTree(path) }
}
