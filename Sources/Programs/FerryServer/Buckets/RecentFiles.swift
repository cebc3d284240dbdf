import Synchronization
import SystemIO

/// Bounds what the bytes of large objects take of the system's page cache.
///
/// What was put and not read yet stays, as the user's other machines fetch it next; what was read stays for less long, as most users
/// have two. What gives way makes room for what comes: pages that are used again cost the kernel less than new ones, and
/// gigabytes of attachments would push the pages of the databases out of memory. Small objects are left to the kernel.
final class RecentFiles: Sendable {
    /// Smaller files are not looked after.
    private static let leastSize: Int64 = 256 << 10

    private struct State {
        var unread: RecentUses
        var read: RecentUses
    }

    private let state: Mutex<State>

    /// - Parameter limit: bytes that stay of files that nobody has read.
    /// - Parameter readLimit: bytes that stay of files that somebody has read.
    init(limit: Int64, readLimit: Int64) {
        state = Mutex(State(unread: RecentUses(limit: limit), read: RecentUses(limit: readLimit)))
    }

    /// The file was just written, and is on the disk.
    func noteWritten(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(state.withLock { $0.unread.add(path, size) })
    }

    /// The file is about to be read.
    func noteRead(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        Self.giveUp(
            state.withLock { state in
                state.unread.remove(path)
                return state.read.add(path, size)
            })
    }

    private static func giveUp(_ paths: [String]) {
        // One that is gone needs nothing.
        for path in paths { (try? FileDescriptor(path: path, .read))?.giveUpPages() }
    }
}
