import Synchronization
import SystemIO

/// A pool of arrays with the capacity of a chunk. Fresh memory for every chunk would cost the
/// kernel more time than hashing it. A few arrays are kept after the last transfer, because another
/// one usually follows soon, until `giveBack`.
package final class BufferPool: Sendable {
    /// The pool of the process.
    package static let shared = BufferPool()

    /// The capacity of each array: a chunk of the standard maximum length, its header, and the
    /// bytes that are read beyond its end.
    static let capacity = ChunkHeader.byteCount + ChunkSizes.standard.maximum + ChunkReader.blockSize

    /// The minimum capacity of pooled arrays. Shorter ones are allocated.
    static let leastCount = capacity / 8

    private static let keptAtMost = 28
    private static let keptAtRest = 8

    private struct State {
        var buffers: [[UInt8]] = []
        var users = 0
    }

    private let state = Mutex(State())

    /// Runs a transfer. Arrays are kept in the pool while a transfer runs.
    func withBuffers<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        state.withLock { $0.users += 1 }
        defer { leave() }
        return try await body()
    }

    /// Returns an empty array with a capacity of at least `count` bytes.
    func take(_ count: Int) -> [UInt8] {
        guard count >= Self.leastCount, count <= Self.capacity else {
            var small: [UInt8] = []
            small.reserveCapacity(count)
            return small
        }
        var buffer = state.withLock { $0.buffers.popLast() } ?? []
        buffer.removeAll(keepingCapacity: true)
        buffer.reserveCapacity(Self.capacity)
        return buffer
    }

    /// Returns an array to the pool.
    func give(_ buffer: consuming [UInt8]) {
        let buffer = buffer
        guard buffer.capacity >= Self.capacity else { return }
        state.withLock { state in
            if state.users > 0, state.buffers.count < Self.keptAtMost { state.buffers.append(buffer) }
        }
    }

    /// Whether exactly one transfer runs, in which case processors may be idle.
    var hasOneUser: Bool { state.withLock { $0.users == 1 } }

    /// Releases all arrays, unless a transfer runs.
    package func giveBack() {
        state.withLock { if $0.users == 0 { $0.buffers = [] } }
    }

    private func leave() {
        state.withLock { state in
            state.users -= 1
            if state.users == 0 { state.buffers.removeFirst(max(0, state.buffers.count - Self.keptAtRest)) }
        }
    }
}

extension FileDescriptor {
    /// Reads into an array from the pool. The result has fewer bytes than requested only at the end
    /// of the file.
    func readPooled(_ count: Int, at offset: Int64) throws -> [UInt8] {
        var bytes = BufferPool.shared.take(count)
        while bytes.count < count {
            let done = bytes.count
            try bytes.append(addingCapacity: count - done) { room in
                try room.withUnsafeMutableBufferPointer { room, got in
                    let room = UnsafeMutableRawBufferPointer(room)[..<(count - done)]
                    got = try read(into: UnsafeMutableRawBufferPointer(rebasing: room), at: offset + Int64(done))
                }
            }
            if bytes.count == done { break }
        }
        return bytes
    }
}
