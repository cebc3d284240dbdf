import SystemIO
import TaskFolder

/// The stamps that cannot prove, at the start of a run, that a file is as the last run read it.
///
/// A file that was read and then saved again within one tick of the file system's clock keeps its stamp. The last run
/// noticed such a save by its event, unless it ended first. So only files that changed within one tick of the newest
/// known change are in question; their bytes are compared. Git treats its index in the same way.
struct RacyStamps {
    private let newest: FileTime?

    /// Creates the set of questionable stamps.
    ///
    /// - Parameter newest: The newest change among the files that the last run knew; nil if every
    ///   stamp can be trusted.
    init(newest: FileTime?) {
        self.newest = newest
    }

    func contains(_ stamp: FileStamp) -> Bool {
        guard let newest else { return false }
        // FAT has a resolution of two seconds; for other file systems the kernel uses its timer,
        // with at most 10 ms.
        let tick = stamp.isCoarse ? FileTime(seconds: 2, nanoseconds: 0) : FileTime(seconds: 0, nanoseconds: 20_000_000)
        return stamp.changed >= newest.earlier(by: tick)
    }
}

extension FileTime {
    fileprivate func earlier(by tick: FileTime) -> FileTime {
        let seconds = self.seconds &- tick.seconds
        let nanoseconds = self.nanoseconds &- tick.nanoseconds
        return nanoseconds >= 0
            ? FileTime(seconds: seconds, nanoseconds: nanoseconds)
            : FileTime(seconds: seconds &- 1, nanoseconds: nanoseconds &+ 1_000_000_000)
    }
}
