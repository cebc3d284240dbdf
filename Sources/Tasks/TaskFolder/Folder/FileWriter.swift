import SystemIO

/// Writes task files in one step each, many of them with one sync.
struct FileWriter<Disk: FolderDisk> {
    let disk: Disk
    let placer: FilePlacer<Disk>

    /// A write between its temporary file and its place.
    private struct Staged {
        var index: Int
        var temporary: String
        /// The temporary file's stamp, which the path has once the write is done.
        var stamp: FileStamp
    }

    /// Writes the files; see `TaskFolder.write`.
    func write(_ writes: [FolderWrite]) -> [Result<WriteOutcome, FolderError>] {
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
                let outcome = try placer.place(file.temporary, file.stamp, at: write.path, expecting: write.expecting)
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

    /// Refused, with the outcome to report.
    private struct Refusal: Error {
        var outcome: WriteOutcome
    }

    private func stage(
        _ write: FolderWrite, index: Int, synchronize: Bool
    ) throws(FolderError) -> Result<Staged, Refusal> {
        try write.path.checkIsFile()
        let current = try disk.statusIfPresent(write.path)
        guard try write.expecting.allows(current, at: write.path) else {
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
        // A file that cannot be read keeps none, but its content is replaced.
        var attributes = replacing ? (try? disk.attributes(write.path.string)) ?? [] : []
        if let mark = write.mark {
            attributes.removeAll { $0.name == identifierAttribute }
            attributes.append(FileAttribute(name: identifierAttribute, value: mark.bytes))
        }
        return attributes
    }
}
