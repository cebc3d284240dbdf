import Synchronization
import SystemIO

extension DiskTaskFolder {
    package func startWatching() throws(FolderError) {
        watching.withLock { $0.isWanted = true }
        try translating { () throws(SystemError) in try disk.startWatching() }
        watching.withLock { $0.start() }
    }

    package var isFullyWatched: Bool {
        watching.withLock { $0.isComplete }
    }

    package func takeEvents() throws(FolderError) -> [FolderEvent] {
        let records = try translating { () throws(SystemError) in try disk.takeEvents() }
        var events: [FolderEvent] = []
        for output in watching.withLock({ $0.handle(records) }) {
            switch output {
            case .event(let event): events.append(event)
            case .arrival(let arrival): welcome(arrival, &events)
            case .unwatch(let watches): for watch in watches { disk.unwatch(watch) }
            }
        }
        return events
    }

    package func waitForEvents() async throws {
        try await disk.waitForEvents()
    }

    /// Watches a new directory, then lists it, and does the same for its subdirectories. Entries
    /// created before the watch are found by listing, later ones by the watch.
    private func welcome(_ arrival: WatchState.Arrival, _ events: inout [FolderEvent]) {
        var left = [arrival]
        while let directory = left.popLast() {
            var found = DirectoryFindings(path: directory.path, kind: directory.path.kind(isDirectory: true))
            do throws(SystemError) {
                let watch = try disk.visit(directory.path.string, watching: true, wantsStatus: found.wantsStatus) {
                    found.add($0, $1)
                }
                events.append(.directoryAppeared(directory.path))
                switch watch {
                case .success(let watch):
                    guard let watch else { break }
                    watching.withLock {
                        $0.insert(watch, path: directory.path, parent: directory.parent, obstacles: found.obstacles)
                    }
                    left += found.directories.map { .init(path: $0.path, parent: watch) }
                case .failure:
                    // From now on scans are requested, and the next one reports the limit.
                    watching.withLock { $0.isComplete = false }
                }
            } catch {
                // If only this directory is gone, ignore it. If its parent is gone too, the parent
                // may have been renamed, or be back, together with this directory.
                if error.code == .notFound, (try? disk.status(directory.path.parent.string)) != nil { continue }
                events.append(.directoryAppeared(directory.path))
                events.append(.rescanNeeded(.unreadable))
            }
            events += found.files.map { .found($0.path) }
            events += found.problems.map { .problem($0) }
        }
    }
}
