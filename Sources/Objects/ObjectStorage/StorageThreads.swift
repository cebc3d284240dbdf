import Glibc
import SystemIO

/// Where everything of this module that blocks or computes for long runs.
enum StorageThreads {
    /// As many threads as processors and two more, because some of the work waits for disks; nil, which is Swift's pool, where
    /// the system gives none.
    static let shared = try? WorkerThreads(
        count: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 2, named: "ferry-storage")

    /// Where transfers run: here, unless the surroundings bring a place to run.
    static func preferred(in surroundings: Surroundings) -> (any TaskExecutor)? {
        surroundings.executor == nil ? shared : nil
    }
}
