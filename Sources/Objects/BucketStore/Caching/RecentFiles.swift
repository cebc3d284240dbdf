import Synchronization
import SystemIO

/// Limits the memory that large objects take in the system's page cache.
///
/// Files that were put and not read yet stay longest, because the user's other machines fetch them
/// next. Files that were read are dropped sooner, because most users have two machines. Without a
/// limit, gigabytes of attachments would push the pages of the databases out of memory, and pages
/// that are reused cost the kernel less than new ones. Small objects are left to the kernel.
final class RecentFiles: Sendable {
    /// The size in bytes below which files are left to the kernel.
    private static let leastSize: Int64 = 256 << 10

    private struct State {
        var unread: RecentUses
        var read: RecentUses
    }

    private let state: Mutex<State>

    /// Creates an empty list of files.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes of files that were not read yet.
    ///   - readLimit: The maximum number of bytes of files that were read.
    init(limit: Int64, readLimit: Int64) {
        state = Mutex(State(unread: RecentUses(limit: limit), read: RecentUses(limit: readLimit)))
    }

    /// Records a file that was just written and is on the disk.
    func noteWritten(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(state.withLock { $0.unread.add(path, size) })
    }

    /// Records a file that is about to be read.
    func noteRead(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(
            state.withLock { state in
                state.unread.remove(path)
                return state.read.add(path, size)
            })
    }

    private static func giveUp(_ paths: [String]) {
        // A file may have been removed meanwhile.
        for path in paths { (try? FileDescriptor(path: path, .read))?.giveUpPages() }
    }
}
