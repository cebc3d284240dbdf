import Synchronization
import SystemIO

/// Bounds what the bytes of objects take of the system's page cache.
///
/// What was put or read lately stays, as other machines of the user fetch it next; older files give way, as nobody is
/// likely to ask again, and gigabytes of attachments would push the pages of the databases out of memory.
final class RecentFiles: Sendable {
    private struct File {
        let path: String
        let size: Int64
    }

    private struct State {
        /// The oldest first, from `head` on.
        var files: [File] = []
        var head = 0
        var size: Int64 = 0
    }

    private let limit: Int64
    private let state = Mutex(State())

    /// - Parameter limit: bytes of files that stay.
    init(limit: Int64) { self.limit = limit }

    /// The file was just written, and is on the disk, or is about to be read.
    func note(_ path: String, size: Int64) {
        let old = state.withLock { state -> ArraySlice<File> in
            state.files.append(File(path: path, size: size))
            state.size += size
            let start = state.head
            while state.size > limit, state.head < state.files.count {
                state.size -= state.files[state.head].size
                state.head += 1
            }
            let old = state.files[start..<state.head]
            if state.head > state.files.count / 2 {
                state.files.removeFirst(state.head)
                state.head = 0
            }
            return old
        }
        // One that is gone needs nothing.
        for file in old { (try? FileDescriptor(path: file.path, .read))?.giveUpPages() }
    }
}
