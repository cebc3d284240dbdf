import CommandLineTool
import Control
import Glibc

/// A TASK argument as it was typed: a path is taken from the working directory first.
struct TaskArgument {
    let word: String

    init(_ word: String) { self.word = word }

    /// Whether it may be meant as a path rather than as an id or words of a title.
    var mayBePath: Bool { word.contains("/") || word.hasSuffix(".md") }

    /// Whether it cannot be meant otherwise.
    var isPath: Bool { word.hasPrefix("/") || word.hasPrefix("./") || word.hasPrefix("../") }

    /// The absolute path, without `.` and `..`.
    func path(in directory: String) -> String {
        var parts: [Substring] = []
        for part in (word.hasPrefix("/") ? word : "\(directory)/\(word)").split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}

extension CommandContext {
    /// The argument TASK, for the daemon.
    func task() async throws -> String { try await task(arguments.argument("TASK") ?? "") }

    /// A word for a task, for the daemon, which knows the tasks but not this program's working directory.
    ///
    /// - Throws: `CommandFailure` for a path that only another directory has a file at.
    func task(_ word: String) async throws -> String {
        let argument = TaskArgument(word)
        guard argument.mayBePath, let directory = realPath(".") else { return word }
        let path = argument.path(in: directory)
        if argument.isPath || exists(path) {
            // A task's file is no link, but the way to it may have some.
            let parts = path.split(separator: "/")
            guard let name = parts.last, let parent = realPath("/" + parts.dropLast().joined(separator: "/")) else {
                return path
            }
            return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
        }
        // Words of a title such as AC/DC, or from elsewhere a path below the tasks directory.
        let tasks = try await service.status().tasksDirectory
        guard let root = realPath(tasks), directory.hasPrefix(root + "/"), exists("\(root)/\(word)") else {
            return word
        }
        throw CommandFailure(
            "There is no file '\(word.printable)' in this directory.",
            hint: "For the one in the tasks directory: \(tasks)/\(word)", status: .notFound)
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func realPath(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
