import Synchronization
import SystemIO

/// Bounds the memory that large objects take of the system's page cache.
///
/// Files that were put and not read yet stay longest, as the user's other machines fetch them next;
/// files that were read give way sooner, as most users have two machines. Gigabytes of attachments
/// would otherwise push the pages of the databases out of memory, and pages that are used again
/// cost the kernel less than new ones. Small objects are left to the kernel.
final class RecentFiles: Sendable {
    /// The size below which files are left to the kernel.
    private static let leastSize: Int64 = 256 << 10

    private struct State {
        var unread: RecentUses
        var read: RecentUses
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The most bytes of files that were not read yet.
    ///   - readLimit: The most bytes of files that were read.
    init(limit: Int64, readLimit: Int64) {
        state = Mutex(State(unread: RecentUses(limit: limit), read: RecentUses(limit: readLimit)))
    }

    /// Notes a file that was just written, and is on the disk.
    func noteWritten(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(state.withLock { $0.unread.add(path, size) })
    }

    /// Notes a file that is about to be read.
    func noteRead(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(
            state.withLock { state in
                state.unread.remove(path)
                return state.read.add(path, size)
            })
    }

    private static func giveUp(_ paths: [String]) {
        // A file may be gone already.
        for path in paths { (try? FileDescriptor(path: path, .read))?.giveUpPages() }
    }
}
