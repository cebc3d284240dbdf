import SystemIO

/// The contents of a directory, sorted by their kinds.
struct DirectoryFindings {
    let path: TaskPath
    let kind: TaskPath.Kind
    private(set) var files: [ScannedFile] = []
    private(set) var directories: [(path: TaskPath, kind: TaskPath.Kind)] = []
    private(set) var problems: [FolderProblem] = []
    /// The names of links, pipes, sockets and devices.
    private(set) var obstacles: [String] = []
    /// Ferry's own temporary files.
    private(set) var leftovers: [TaskPath] = []
    private var names = ClashFinder()

    init(path: TaskPath, kind: TaskPath.Kind) {
        self.path = path
        self.kind = kind
    }

    /// Whether an entry needs a status call, because it may be a task or an attachment.
    func wantsStatus(_ entry: DirectoryEntry) -> Bool {
        switch entry.kind {
        case .file: [.taskFile, .attachment].contains(kind(of: entry, isDirectory: false))
        case .unknown: !TaskPath.isIgnored(entry.name)
        default: false
        }
    }

    private func kind(of entry: DirectoryEntry, isDirectory: Bool) -> TaskPath.Kind {
        TaskPath.kind(of: entry.name, in: kind, isDirectory: isDirectory)
    }

    mutating func add(_ entry: DirectoryEntry, _ status: FileStatus?) {
        if TaskPath.isIgnored(entry.name) { return addIgnored(entry) }
        let child = path.appending(unchecked: entry.name)
        switch status?.kind ?? entry.kind {
        case .file:
            guard let status, kind(of: entry, isDirectory: false) != .ignored else {
                // A name that is not text has no status. Files of other programs are ignored.
                if entry.invalidBytes != nil {
                    addInvalid(entry)
                } else if let problem = FolderProblem(ofFile: child) {
                    problems.append(problem)
                }
                return
            }
            addFile(child, entry, status)
        case .directory: addDirectory(child, entry)
        case .link:
            obstacles.append(entry.name)
            add(
                .symbolicLink, child, "it is a symbolic link and is not followed; put the file or directory itself here"
            )
        case .unknown where entry.invalidBytes != nil: addInvalid(entry)
        default:
            obstacles.append(entry.name)
            guard kind(of: entry, isDirectory: false) != .ignored else { return }
            add(.specialFile, child, "it is a pipe, socket or device and is left alone")
        }
    }

    private mutating func addFile(_ child: TaskPath, _ entry: DirectoryEntry, _ status: FileStatus) {
        guard isValid(entry) else { return }
        let isAttachment = kind == .attachments
        if !isAttachment {
            if isConflictCopy(entry.name) {
                add(.otherSync, child, "another program made this conflict copy; it is synced as a task of its own")
            }
        }
        noteClash(entry.name)
        files.append(ScannedFile(path: child, stamp: FileStamp(status), isAttachment: isAttachment))
    }

    private mutating func addDirectory(_ child: TaskPath, _ entry: DirectoryEntry) {
        guard isValid(entry) else { return }
        let kind = kind(of: entry, isDirectory: true)
        switch kind {
        case .list, .attachments:
            noteClash(entry.name)
            directories.append((child, kind))
        default: if let problem = FolderProblem(ofDirectory: child) { problems.append(problem) }
        }
    }

    private mutating func addIgnored(_ entry: DirectoryEntry) {
        let child = path.appending(unchecked: entry.name)
        if Directory.isTemporary(entry.name) {
            leftovers.append(child)
        } else if entry.kind == .directory, let problem = FolderProblem(ofDirectory: child) {
            problems.append(problem)
        } else if path.isRoot, let program = otherPrograms[entry.name] {
            add(
                .otherSync, child,
                "\(program) syncs this directory as well; two programs that sync the same files undo each other's work")
        }
    }

    private mutating func isValid(_ entry: DirectoryEntry) -> Bool {
        if entry.invalidBytes != nil {
            addInvalid(entry)
            return false
        }
        guard let problem = NameProblem(of: entry.name) else { return true }
        add(.invalidName, path.appending(unchecked: entry.name), "\(problem.description); rename it")
        return false
    }

    private mutating func addInvalid(_ entry: DirectoryEntry) {
        let isTask = [.taskFile, .attachment].contains(kind(of: entry, isDirectory: false))
        guard isTask || entry.kind == .directory || entry.kind == .unknown else { return }
        problems.append(
            FolderProblem(
                .invalidName, path: (path.isRoot ? "" : escapedPath(path.string) + "/") + entry.name,
                "its name is not UTF-8; rename it"))
    }

    private mutating func noteClash(_ name: String) {
        guard let other = names.insert(name) else { return }
        add(
            .nameClash, path.appending(unchecked: name),
            "it differs from \(escapedPath(other)) only in case or Unicode form, which other systems cannot tell apart; rename one"
        )
    }

    private mutating func add(_ kind: FolderProblem.Kind, _ path: TaskPath, _ message: String) {
        problems.append(FolderProblem(kind, path: escapedPath(path.string), message))
    }
}

private let otherPrograms = [
    ".stfolder": "Syncthing", ".dropbox": "Dropbox", ".dropbox.cache": "Dropbox", ".owncloudsync.log": "Nextcloud",
    ".nextcloudsync.log": "Nextcloud", ".seafile-data": "Seafile",
]

/// Whether Syncthing, Dropbox or Nextcloud gives such names to the losing version of a conflict.
private func isConflictCopy(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { name in
        conflictMarks.contains { mark in
            guard name.count > mark.count else { return false }
            return (0...(name.count - mark.count)).contains { start in
                name[start] == mark[0] && name[start..<(start + mark.count)].elementsEqual(mark)
            }
        }
    }
}

private let conflictMarks = [".sync-conflict-", "(conflicted copy", "(case conflict"].map { Array($0.utf8) }
