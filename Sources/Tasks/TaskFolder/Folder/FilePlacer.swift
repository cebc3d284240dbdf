import SystemIO

/// Puts finished files into their places so that no edit of another program is lost.
struct FilePlacer<Disk: FolderDisk> {
    let disk: Disk
    let trash: DiskTrash<Disk>

    /// Puts a finished temporary file in its place.
    ///
    /// - Parameters:
    ///   - trashesReplaced: see `IncomingFile`.
    ///   - discard: called with the temporary file where the place is refused or fails; nil removes it.
    func place(
        _ temporary: String, _ stamp: FileStamp, at path: TaskPath, expecting expectation: FileExpectation,
        trashesReplaced: Bool = false, discard: ((String) -> Void)? = nil
    ) throws(FolderError) -> WriteOutcome {
        let discard = { [disk] (temporary: String) in
            // What an exchange displaced, and could not be put back, is not ours to discard: the
            // next start puts it aside.
            guard let now = try? disk.status(temporary), FileStamp(now).hasContent(of: stamp) else { return }
            if let discard { discard(temporary) } else { try? disk.remove(temporary) }
        }
        var stamp = stamp
        do throws(FolderError) {
            switch expectation {
            case .absent:
                let renamed = try disk.renameExclusively(temporary, to: path.string)
                guard renamed.isDone else {
                    discard(temporary)
                    return .changed(try disk.statusIfPresent(path).map { FileStamp($0) })
                }
                if let copied = renamed.copied { stamp = FileStamp(copied.copy) }
            case .anything:
                try translating { () throws(SystemError) in try disk.rename(temporary, to: path.string, .replacing) }
            case .stamp(let expected):
                if let refusal = try exchange(
                    temporary, stamp, with: path, expecting: expected, trashesReplaced: trashesReplaced)
                {
                    discard(temporary)
                    return refusal
                }
            }
        } catch {
            discard(temporary)
            throw error
        }
        return .written(try stampAfterWriting(path, stamp))
    }

    /// The rename has moved the time of change, so the stamp is taken again; but an edit that came
    /// right after it must not be taken for our echo.
    private func stampAfterWriting(_ path: TaskPath, _ stamp: FileStamp) throws(FolderError) -> FileStamp {
        guard let now = try disk.statusIfPresent(path).map({ FileStamp($0) }), now.hasContent(of: stamp) else {
            return stamp
        }
        return now
    }

    /// Exchanges the new file with the expected one and looks at what came out. Nil where it was
    /// the expected one, which is removed, or goes to the trash; otherwise everything is as before,
    /// the new file under its temporary name, unless that was taken away.
    ///
    /// The race that is left: a program that holds the old file open and writes to it after the check writes to a file
    /// that has no name any more.
    private func exchange(
        _ temporary: String, _ stamp: FileStamp, with path: TaskPath, expecting expected: FileStamp,
        trashesReplaced: Bool
    ) throws(FolderError) -> WriteOutcome? {
        let before = try disk.statusIfPresent(path).map { FileStamp($0) }
        guard before == expected else { return .changed(before) }
        do throws(SystemError) {
            try disk.rename(temporary, to: path.string, .exchanging)
        } catch {
            if error.code == .notFound { return .changed(try disk.statusIfPresent(path).map { FileStamp($0) }) }
            guard disk.isUnsupportedRename(error) else { throw FolderError(error) }
            // Without RENAME_EXCHANGE an edit between the look above and this call is lost.
            try translating { () throws(SystemError) in try disk.rename(temporary, to: path.string, .replacing) }
            return nil
        }
        return try translating { () throws(SystemError) in
            do throws(SystemError) {
                let displaced = FileStamp(try disk.status(temporary))
                if displaced.hasContent(of: expected) {
                    if !trashesReplaced || !trash.take(replaced: temporary, of: path) { try disk.remove(temporary) }
                    return nil
                }
            } catch {
                // The directory was renamed just now, and our file with it. The file that ours displaced
                // is quarantined at the next start.
                if error.code == .notFound { return nil }
                throw error
            }
            if try takeBack(temporary, stamp, path) {
                return .changed((try? disk.status(path.string)).map { FileStamp($0) })
            }
            let saved = try? disk.read(temporary, limit: TaskFileContent.limit).bytes
            disk.putAside(TaskPath(unchecked: temporary))
            return saved.map { .overtaken(stamp, saved: $0) }
                ?? .changed((try? disk.status(path.string)).map { FileStamp($0) })
        }
    }

    /// Undoes an exchange: the displaced file takes its name again and ours the temporary one.
    ///
    /// - Returns: false if the file is a task's, and ours was moved, removed, edited or replaced
    ///   meanwhile. Whichever file has the name then, there must not be two of them, and that file
    ///   may have been made from ours. A displaced attachment gets its name back if that is still
    ///   free; otherwise it is quarantined.
    private func takeBack(_ temporary: String, _ stamp: FileStamp, _ path: TaskPath) throws(SystemError) -> Bool {
        let isTask = path.kind(isDirectory: false) == .taskFile
        for _ in 0..<16 {
            do throws(SystemError) {
                guard FileStamp(try disk.status(path.string)).hasContent(of: stamp) else { break }
                try disk.rename(temporary, to: path.string, .exchanging)
                if FileStamp(try disk.status(temporary)).hasContent(of: stamp) { return true }
                // Another file came between the two calls and is under the temporary name now: back it goes.
                try disk.rename(temporary, to: path.string, .exchanging)
            } catch {
                guard error.code == .notFound else { throw error }
                if isTask { return false }
                do throws(SystemError) {
                    try disk.rename(temporary, to: path.string, .exclusive)
                    return true
                } catch { break }
            }
        }
        if isTask { return false }
        disk.putAside(TaskPath(unchecked: temporary))
        return true
    }
}

extension FileExpectation {
    /// Whether what is at `path` is what a change expects there.
    ///
    /// - Throws: `.wrongKind` if a file is expected and something else is there.
    func allows(_ status: FileStatus?, at path: TaskPath) throws(FolderError) -> Bool {
        if let status, status.kind != .file, self != .absent {
            throw FolderError(.wrongKind, "\(path) is not a regular file")
        }
        return switch self {
        case .anything: true
        case .absent: status == nil
        case .stamp(let stamp): status.map { FileStamp($0) } == stamp
        }
    }
}

extension TaskPath {
    /// Throws unless a scan would find a file of this name again.
    func checkIsFile() throws(FolderError) {
        switch kind(isDirectory: false) {
        case .taskFile, .attachment: return
        default: throw FolderError(.invalidName, "\(self) would be no task file and no attachment")
        }
    }
}
