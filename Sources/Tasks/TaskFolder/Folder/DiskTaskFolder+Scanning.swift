import Synchronization
import SystemIO

extension DiskTaskFolder {
    /// The maximum depth of lists. Deeper ones are reported and not entered.
    private static var maximalDepth: Int { 32 }

    package func scan(
        _ purpose: ScanPurpose, isCovered: CoverTest?, _ body: (ScannedFile) -> Void
    ) throws(FolderError) -> FolderScan {
        var scan = FolderScan(root: try rootState())
        var watchFailure: SystemError?
        let watches = purpose != .look
        if watches, watching.withLock({ $0.isWanted && !$0.isStarted }) {
            // There was no room for a queue before; each scan tries again.
            do throws(SystemError) {
                try disk.startWatching()
                watching.withLock { $0.start() }
            } catch {
                watchFailure = error
            }
        }
        let isWatching = watches && watching.withLock { $0.isStarted }
        var left: [(path: TaskPath, kind: TaskPath.Kind, parent: Int32?)] = [(.root, .list, nil)]
        var directoryCount = 0
        var covered: Set<TaskPath> = []
        while let (path, kind, parent) = left.popLast() {
            directoryCount += 1
            var found = DirectoryFindings(path: path, kind: kind)
            let watch: Result<Int32?, SystemError>
            do throws(SystemError) {
                watch = try disk.visit(
                    path.string, watching: isWatching && watchFailure == nil, wantsStatus: found.wantsStatus
                ) { entry, status in
                    found.add(entry, status)
                }
            } catch {
                // A directory that vanished after its parent was listed is gone; the root existed a
                // moment ago.
                if error.code != .notFound || path.isRoot {
                    scan.addUnreadable(path, error)
                    scan.unlisted[path] = directoryChanged(path) ?? .never
                }
                continue
            }
            if kind == .list, self.isCovered(found, watch, isCovered) {
                covered.insert(path)
                scan.addCovered(path)
                continue
            }
            var number: Int32?
            switch watch {
            case .success(let watch):
                number = watch
                if let watch {
                    watching.withLock { $0.insert(watch, path: path, parent: parent, obstacles: found.obstacles) }
                }
            case .failure(let error):
                watchFailure = error
            }
            for file in found.files { body(file) }
            scan.fileCount += found.files.count
            scan.add(found.problems)
            if watches { for leftover in found.leftovers { disk.putAside(leftover) } }
            for (child, kind) in found.directories {
                guard child.components.count <= Self.maximalDepth else {
                    scan.add([
                        FolderProblem(
                            .tooDeep, path: escapedPath(child.string),
                            "lists are nested at most \(Self.maximalDepth) deep; move it up")
                    ])
                    scan.unreadable.append(child)
                    continue
                }
                if kind == .attachments { scan.attachments.append(child) } else { scan.lists.append(child) }
                left.append((child, kind, number))
            }
        }
        if isCovered != nil { self.covered.withLock { $0 = covered } }
        if let watchFailure { scan.addWatchFailure(watchFailure, directoryCount: directoryCount) }
        scan.isWatched = isWatching && watchFailure == nil
        if watches { watching.withLock { $0.isComplete = scan.isWatched } }
        scan.isSameRoot = (try? rootState())?.identity == scan.root.identity
        return scan
    }

    /// Whether a directory that was just listed is a covered list, which is then not watched.
    private func isCovered(
        _ found: DirectoryFindings, _ watch: Result<Int32?, SystemError>, _ test: CoverTest?
    ) -> Bool {
        guard let test else { return coveredLists.contains(found.path) }
        let directories = Set(found.directories.map(\.path))
        guard test(found.path, found.files, directories) else { return false }
        if case .success(let watch?) = watch { disk.unwatch(watch) }
        return true
    }
}

extension FolderScan {
    /// The maximum number of problems that are kept, so that a tree of broken links cannot fill the
    /// memory.
    private static let problemLimit = 1000

    mutating func add(_ found: [FolderProblem]) {
        problemCount += found.count
        problems += found.prefix(max(0, FolderScan.problemLimit - problems.count))
    }

    mutating func addUnreadable(_ path: TaskPath, _ error: SystemError) {
        unreadable.append(path)
        add([
            FolderProblem(
                .unreadable, path: escapedPath(path.description),
                "\(error.message). Its tasks keep their last state and none of them counts as deleted")
        ])
    }

    mutating func addCovered(_ path: TaskPath) {
        unreadable.append(path)
        let message = DiskTaskFolder<KernelDisk>.coveredMessage(path)
        add([FolderProblem(.otherFileSystem, path: escapedPath(path.string), message)])
    }

    mutating func addWatchFailure(_ error: SystemError, directoryCount: Int) {
        add([
            FolderProblem(
                .watchLimit, path: ".",
                "\(error.message). This tree needs \(directoryCount) watches; until then changes are found by "
                    + "scanning now and then")
        ])
    }
}
