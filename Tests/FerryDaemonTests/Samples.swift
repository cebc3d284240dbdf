import Glibc
import SystemIO
import TaskModel

@testable import TaskSync

/// Returns a catalog entry of a task.
func sample(
    _ id: String, _ title: String, done: Bool = false, priority: Priority? = nil, due: String? = nil,
    tags: [String] = [], list: String? = nil
) -> TaskCatalog.Entry {
    TaskCatalog.Entry(
        id: id, title: title, isCompleted: done, priority: priority, due: due.flatMap { Due(parsing: $0) }, tags: tags,
        list: list, attachmentCount: 0, deletion: nil, isPending: false, isParked: false)
}

/// A directory for one test, removed when the value is released.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "/tmp/ferry-daemon-tests-\(SystemRandom.hex(8))"
        try FileSystem.makeDirectories(path, mode: 0o700)
    }

    deinit { try? FileSystem.removeTree(path) }
}
