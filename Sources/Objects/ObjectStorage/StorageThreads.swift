import Glibc
import SystemIO

/// The threads on which this module runs blocking calls and long computations.
enum StorageThreads {
    /// A pool of as many threads as processors and two more, because some of the work waits for
    /// disks. Nil if the system provides none; Swift's own thread pool is used then.
    static let shared = try? WorkerThreads(
        count: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 2, named: "ferry-storage")

    /// The executor on which transfers run: `shared`, unless the environment has an executor of its
    /// own.
    static func preferred(in environment: Environment) -> (any TaskExecutor)? {
        environment.executor == nil ? shared : nil
    }
}
