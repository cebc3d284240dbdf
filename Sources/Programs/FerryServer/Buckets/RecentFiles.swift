import Synchronization
import SystemIO

/// Bounds what the bytes of large objects take of the system's page cache.
///
/// What was put or read last stays, as other machines of the user fetch it next; what nobody has touched for longer gives way,
/// as gigabytes of attachments would push the pages of the databases out of memory. Small objects are left to the kernel.
final class RecentFiles: Sendable {
    /// Smaller files are not looked after.
    private static let leastSize: Int64 = 256 << 10

    private struct Use {
        let path: String
        let size: Int64
        let number: Int
    }

    private struct State {
        /// The oldest first, from `head` on. Only the last use of a path counts.
        var uses: [Use] = []
        var head = 0
        var last: [String: Int] = [:]
        var size: Int64 = 0
        var count = 0
    }

    private let limit: Int64
    private let state = Mutex(State())

    /// - Parameter limit: bytes of files that stay.
    init(limit: Int64) { self.limit = limit }

    /// The file was just written, and is on the disk, or is about to be read.
    func note(_ path: String, size: Int64) {
        guard size >= Self.leastSize else { return }
        // One that is gone needs nothing.
        for path in add(path, size) { (try? FileDescriptor(path: path, .read))?.giveUpPages() }
    }

    /// Adds a use and answers the files that have to give way.
    func add(_ path: String, _ size: Int64) -> [String] {
        state.withLock { state in
            state.count += 1
            if state.last.updateValue(state.count, forKey: path) == nil { state.size += size }
            state.uses.append(Use(path: path, size: size, number: state.count))
            var old: [String] = []
            while state.head < state.uses.count {
                let use = state.uses[state.head]
                let isStale = state.last[use.path] != use.number
                guard isStale || state.size > limit else { break }
                state.head += 1
                if isStale { continue }
                state.last[use.path] = nil
                state.size -= use.size
                old.append(use.path)
            }
            if state.head > 64, state.head > state.uses.count / 2 {
                state.uses.removeFirst(state.head)
                state.head = 0
            }
            if state.uses.count > 2 * state.last.count + 1024 {
                state.uses = state.uses[state.head...].filter { state.last[$0.path] == $0.number }
                state.head = 0
            }
            return old
        }
    }
}
