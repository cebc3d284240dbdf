import DocumentClient
import SystemService
import TaskFolder

/// Attachments that nobody has told of yet, of a task whose file went: only the local trash has them. They come back with their task.
struct UntoldFiles: Sendable, Equatable {
    /// Where they were beside the task's file.
    let directory: TaskPath
    let names: [String]

    init(directory: TaskPath, names: [String]) {
        self.directory = directory
        self.names = names
    }

    /// From a line for the directory and one for each name; nil for anything else. No name has a line break in it.
    init?(saved text: String) {
        let lines = text.split(separator: "\n").map(String.init)
        guard let first = lines.first, let directory = try? TaskPath(first) else { return nil }
        self.init(directory: directory, names: Array(lines.dropFirst()))
    }

    var saved: String { ([directory.string] + names).joined(separator: "\n") }
}

extension TaskSync {
    /// To be called before what is beside the files of tasks goes to the local trash.
    func rememberUntold(_ files: [(task: String, path: TaskPath)]) async throws {
        var found: [String: UntoldFiles] = [:]
        for (task, path) in files {
            let names = transfers.current(of: task).filter { $0.isUpload && !$0.isRepair }.map(\.name).sorted()
            guard !names.isEmpty, let directory = try? path.attachmentsDirectory() else { continue }
            found[task] = UntoldFiles(directory: directory, names: names)
        }
        guard !found.isEmpty else { return }
        try await client.transaction { [found] transaction in
            for (task, files) in found { try SyncTables(transaction).setUntold(files, of: task) }
        }
        untold.merge(found) { $1 }
    }

    /// The file of a task is there again: what went with it untold comes back beside it, where its name is free, and is told of then.
    func bringBackUntold(of task: String, beside path: TaskPath) async throws {
        guard let files = untold[task], !folder.isAbsent(path) else { return }
        do {
            // The latest of them; what is nowhere was taken away by hand.
            let entries = try folder.trashEntries().reversed().filter { $0.origins.contains(files.directory) }
            let target = try path.attachmentsDirectory()
            for name in files.names {
                for entry in entries where try folder.takeFromTrash(entry, files.directory, name, to: target) { break }
            }
        } catch {
            return logger.warning("attachments of \(path) stay in the local trash", ["error": "\(error)"])
        }
        try await client.transaction { try SyncTables($0).setUntold(nil, of: task) }
        untold[task] = nil
    }

    /// Forgets those of tasks that have gone for good.
    func forgetUntold() async throws {
        let gone = untold.keys.filter { catalog[$0] == nil }
        guard !gone.isEmpty else { return }
        try await client.transaction { for task in gone { try SyncTables($0).setUntold(nil, of: task) } }
        for task in gone { untold[task] = nil }
    }
}
