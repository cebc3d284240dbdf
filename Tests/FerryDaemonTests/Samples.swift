import Glibc
import SystemIO
import TaskModel

@testable import TaskSync

/// A task as the catalog has it.
func sample(
    _ id: String, _ title: String, done: Bool = false, priority: Priority? = nil, due: String? = nil,
    tags: [String] = [], list: String? = nil
) -> TaskCatalog.Entry {
    TaskCatalog.Entry(
        id: id, title: title, isCompleted: done, priority: priority, due: due.flatMap { Due(parsing: $0) }, tags: tags,
        list: list, attachmentCount: 0, deletion: nil, isPending: false, isParked: false)
}

/// A directory of its own for a test, removed when the value goes.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "/tmp/ferry-daemon-tests-\(SystemRandom.hex(8))"
        try FileSystem.makeDirectories(path, mode: 0o700)
    }

    deinit { try? FileSystem.removeTree(path) }
}
