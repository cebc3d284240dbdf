import CommandLineTool
import Control
import Glibc

/// A TASK argument as typed. A path is relative to the working directory.
struct TaskArgument {
    let word: String

    init(_ word: String) { self.word = word }

    /// Whether the argument may be a path rather than an id or words of a title.
    var mayBePath: Bool { word.contains("/") || word.hasSuffix(".md") }

    /// Whether the argument can only be a path.
    var isPath: Bool { word.hasPrefix("/") || word.hasPrefix("./") || word.hasPrefix("../") }

    /// Returns the absolute path without `.` and `..`.
    func path(in directory: String) -> String {
        var parts: [Substring] = []
        for part in (word.hasPrefix("/") ? word : "\(directory)/\(word)").split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}

extension CommandContext {
    /// Returns the TASK argument in the form for the daemon.
    func task() async throws -> String { try await task(arguments.argument("TASK") ?? "") }

    /// Returns a reference to a task in the form for the daemon, which does not know this program's
    /// working directory.
    ///
    /// - Throws: `CommandFailure` for a path at which only the tasks directory has a file.
    func task(_ word: String) async throws -> String {
        let argument = TaskArgument(word)
        guard argument.mayBePath, let directory = realPath(".") else { return word }
        let path = argument.path(in: directory)
        if argument.isPath || exists(path) {
            // A task's file is not a link, but its parent directories may be.
            let parts = path.split(separator: "/")
            guard let name = parts.last, let parent = realPath("/" + parts.dropLast().joined(separator: "/")) else {
                return path
            }
            return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
        }
        // The argument is words of a title such as AC/DC, or, from another directory, a path below
        // the tasks directory.
        let tasks = try await service.status().tasksDirectory
        guard let root = realPath(tasks), directory.hasPrefix(root + "/"), exists("\(root)/\(word)") else {
            return word
        }
        throw CommandFailure(
            "There is no file '\(word.printable)' in this directory.",
            hint: "For the file in the tasks directory: \(tasks)/\(word)", status: .notFound)
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
