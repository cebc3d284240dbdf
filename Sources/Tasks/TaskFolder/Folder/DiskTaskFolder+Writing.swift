import SystemIO

extension DiskTaskFolder {
    /// A write between its temporary file and its place.
    private struct Staged {
        var index: Int
        var temporary: String
        /// Of the temporary file: what the path has once the write is done.
        var stamp: FileStamp
    }

    package func write(_ writes: [FolderWrite]) -> [Result<WriteOutcome, FolderError>] {
        var results = [Result<WriteOutcome, FolderError>?](repeating: nil, count: writes.count)
        var staged: [Staged] = []
        for (index, write) in writes.enumerated() {
            do throws(FolderError) {
                switch try stage(write, index: index, synchronize: writes.count <= 4) {
                case .success(let file): staged.append(file)
                case .failure(let refusal): results[index] = .success(refusal.outcome)
                }
            } catch {
                results[index] = .failure(error)
            }
        }
        if writes.count > 4, !staged.isEmpty {
            do throws(SystemError) {
                try disk.synchronizeFileSystems(of: staged.map(\.temporary))
            } catch {
                for file in staged {
                    try? disk.remove(file.temporary)
                    results[file.index] = .failure(FolderError(error))
                }
                staged = []
            }
        }
        var parents: Set<TaskPath> = []
        for file in staged {
            let write = writes[file.index]
            do throws(FolderError) {
                let outcome = try place(file.temporary, file.stamp, at: write.path, expecting: write.expecting)
                if case .written = outcome { parents.insert(write.path.parent) }
                results[file.index] = .success(outcome)
            } catch {
                results[file.index] = .failure(error)
            }
        }
        for parent in parents {
            do throws(SystemError) {
                try disk.synchronizeDirectory(parent.string)
            } catch {
                // It has another name by now, and what was written has gone with it.
                if error.code == .notFound { continue }
                for file in staged where writes[file.index].path.parent == parent {
                    results[file.index] = .failure(FolderError(error))
                }
            }
        }
        return results.map { $0 ?? .failure(FolderError(.other, "a write had no result")) }
    }

    package func synchronize(_ paths: [TaskPath]) -> Set<TaskPath> {
        guard paths.count <= 4 else {
            // By their directories, since a file may be gone; by the root first, since those may be as well.
            let directories = Set(paths.map(\.parent)).filter { (try? disk.status($0.string)) != nil }
            try? disk.synchronizeFileSystems(of: [TaskPath.root.string] + directories.map(\.string))
            return []
        }
        var gone: Set<TaskPath> = []
        for path in paths {
            do throws(SystemError) {
                try disk.synchronizeFile(path.string)
            } catch {
                if error.code == .notFound { gone.insert(path) }
            }
        }
        // A directory that is new itself has to stay as well.
        func above(_ paths: some Sequence<TaskPath>) -> Set<TaskPath> {
            var directories: Set<TaskPath> = []
            for path in paths {
                var parent = path.parent
                while directories.insert(parent).inserted, !parent.isRoot { parent = parent.parent }
            }
            return directories
        }
        let needed = above(paths.lazy.filter { !gone.contains($0) })
        var isComplete = true
        for directory in needed.union(above(gone)) {
            do throws(SystemError) {
                try disk.synchronizeDirectory(directory.string)
            } catch {
                if error.code == .notFound, needed.contains(directory) { isComplete = false }
            }
        }
        // One that got another name at this moment has the files all the same, wherever it is.
        if !isComplete { try? disk.synchronizeFileSystems(of: [TaskPath.root.string]) }
        return gone
    }

    /// Refused, with the outcome to report.
    private struct Refusal: Error {
        var outcome: WriteOutcome
    }

    private func stage(
        _ write: FolderWrite, index: Int, synchronize: Bool
    ) throws(FolderError) -> Result<Staged, Refusal> {
        try checkIsFile(write.path)
        let current = try status(write.path)
        guard try isAsExpected(current, write.path, write.expecting) else {
            return .failure(Refusal(outcome: .changed(current.map { FileStamp($0) })))
        }
        let attributes = try attributes(for: write, replacing: current != nil)
        return .success(
            try translating { () throws(SystemError) in
                let temporary = try disk.writeTemporary(
                    in: write.path.parent.string, write.bytes, mode: current?.mode, attributes: attributes,
                    synchronize: synchronize)
                do throws(SystemError) {
                    return Staged(
                        index: index, temporary: temporary, stamp: FileStamp(try disk.status(temporary)))
                } catch {
                    try? disk.remove(temporary)
                    throw error
                }
            })
    }

    /// The user's own attributes stay on the file.
    private func attributes(for write: FolderWrite, replacing: Bool) throws(FolderError) -> [FileAttribute] {
        // A file that cannot be read keeps none: its content is replaced all the same.
        var attributes = replacing ? (try? disk.attributes(write.path.string)) ?? [] : []
        if let identifier = write.identifier {
            attributes.removeAll { $0.name == identifierAttribute }
            attributes.append(FileAttribute(name: identifierAttribute, value: Array(identifier.utf8)))
        }
        return attributes
    }

    /// Only names that a scan would find again.
    func checkIsFile(_ path: TaskPath) throws(FolderError) {
        switch path.kind(isDirectory: false) {
        case .taskFile, .attachment: return
        default: throw FolderError(.invalidName, "\(path) would be no task file and no attachment")
        }
    }

    func makeParents(of path: TaskPath) throws(FolderError) {
        if path.parent.isRoot { return }
        if try status(path.parent) == nil { try makeDirectory(path.parent) }
    }

    func isAsExpected(
        _ status: FileStatus?, _ path: TaskPath, _ expectation: FileExpectation
    ) throws(FolderError) -> Bool {
        if let status, status.kind != .file, expectation != .absent {
            throw FolderError(.wrongKind, "\(path) is no regular file")
        }
        return switch expectation {
        case .anything: true
        case .absent: status == nil
        case .stamp(let stamp): status.map { FileStamp($0) } == stamp
        }
    }

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
                let renamed = try renameExclusively(temporary, to: path.string)
                guard renamed.isDone else {
                    discard(temporary)
                    return .changed(try status(path).map { FileStamp($0) })
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
        guard let now = try status(path).map({ FileStamp($0) }), now.hasContent(of: stamp) else { return stamp }
        return now
    }

    /// Renames unless the name is taken: then `isDone` is false.
    ///
    /// - Returns: Also what was copied, if the target is on another file system.
    func renameExclusively(
        _ path: String, to target: String
    ) throws(FolderError) -> (isDone: Bool, copied: CopiedMove?) {
        do throws(SystemError) {
            return (true, try disk.move(path, to: target, .exclusive))
        } catch {
            if error.code == .exists { return (false, nil) }
            guard isUnsupportedRename(error) else { throw FolderError(error) }
        }
        // Without RENAME_NOREPLACE a file that appears between these two calls is lost.
        guard try status(TaskPath(unchecked: target)) == nil else { return (false, nil) }
        return (true, try translating { () throws(SystemError) in try disk.move(path, to: target, .replacing) })
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
        let before = try status(path).map { FileStamp($0) }
        guard before == expected else { return .changed(before) }
        do throws(SystemError) {
            try disk.rename(temporary, to: path.string, .exchanging)
        } catch {
            if error.code == .notFound { return .changed(try status(path).map { FileStamp($0) }) }
            guard isUnsupportedRename(error) else { throw FolderError(error) }
            // Without RENAME_EXCHANGE an edit between the look above and this call is lost.
            try translating { () throws(SystemError) in try disk.rename(temporary, to: path.string, .replacing) }
            return nil
        }
        return try translating { () throws(SystemError) in
            do throws(SystemError) {
                let displaced = FileStamp(try disk.status(temporary))
                if displaced.hasContent(of: expected) {
                    if !trashesReplaced || !trash(replaced: temporary, of: path) { try disk.remove(temporary) }
                    return nil
                }
            } catch {
                // The directory has got another name just now, and ours has gone with it: what it
                // displaced is put aside at the next start.
                if error.code == .notFound { return nil }
                throw error
            }
            if try takeBack(temporary, stamp, path) {
                return .changed((try? disk.status(path.string)).map { FileStamp($0) })
            }
            let saved = try? disk.read(temporary, limit: TaskFileContent.limit).bytes
            putAside(TaskPath(unchecked: temporary))
            return saved.map { .overtaken(stamp, saved: $0) }
                ?? .changed((try? disk.status(path.string)).map { FileStamp($0) })
        }
    }

    /// Undoes an exchange: the displaced file takes its name again and ours the temporary one.
    ///
    /// - Returns: false where the file is a task's, and ours was moved, removed, edited or replaced meanwhile: whichever has the name
    ///   then, there must not be two of them, and what stands there may have been made of ours. A displaced attachment takes its
    ///   name again, if that is still free; else it is put aside.
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
        putAside(TaskPath(unchecked: temporary))
        return true
    }

    /// EINVAL is what renameat2(2) says for a flag that the file system does not know.
    private func isUnsupportedRename(_ error: SystemError) -> Bool {
        error.errno == 22 || (error.code == .unsupported && error.errno != 0)
    }

    private static var recovered: String { TaskPath.privateDirectory + "/recovered" }

    /// Moves a file that may hold the user's words out of the way.
    func putAside(_ path: TaskPath) {
        try? disk.makeDirectories(Self.recovered)
        try? disk.rename(path.string, to: Self.recovered + "/" + disk.uniqueName(), .exclusive)
    }

    package func recoveredNames() throws(FolderError) -> [String] { try names(in: Self.recovered) }

    package func removeRecovered(_ name: String) throws(FolderError) {
        if let problem = NameProblem(of: name) { throw FolderError(.invalidName, problem.description) }
        let path = Self.recovered + "/" + name
        do throws(SystemError) {
            if try disk.status(path).kind == .directory { try disk.removeTree(path) } else { try disk.remove(path) }
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
    }

    /// The names in a directory; none where there is no such directory.
    func names(in directory: String) throws(FolderError) -> [String] {
        var names: [String] = []
        do throws(SystemError) {
            _ = try disk.visit(directory, watching: false, wantsStatus: { _ in false }) { entry, _ in
                if entry.invalidBytes == nil { names.append(entry.name) }
            }
        } catch {
            if error.code != .notFound { throw FolderError(error) }
        }
        return names
    }
}
