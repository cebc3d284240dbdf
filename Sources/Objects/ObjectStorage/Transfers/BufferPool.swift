import Synchronization
import SystemIO

/// Arrays with room for a chunk, used again and again: fresh memory for every chunk would cost the kernel more time
/// than hashing it. A few stay when the last transfer has ended, as more often follow each other closely, until `giveBack`.
package final class BufferPool: Sendable {
    package static let shared = BufferPool()

    /// Room for a chunk of the standard greatest length, its header, and what is read behind it.
    static let capacity = ChunkHeader.byteCount + ChunkSizes.standard.maximum + ChunkReader.blockSize

    /// Shorter arrays are made anew.
    static let leastCount = capacity / 8

    private static let keptAtMost = 28
    private static let keptAtRest = 8

    private struct State {
        var buffers: [[UInt8]] = []
        var users = 0
    }

    private let state = Mutex(State())

    /// Runs a transfer, for whose duration buffers are kept.
    func withBuffers<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        state.withLock { $0.users += 1 }
        defer { leave() }
        return try await body()
    }

    /// An empty array with room for `count` bytes.
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

    /// Takes back an array that nobody needs any more.
    func give(_ buffer: consuming [UInt8]) {
        let buffer = buffer
        guard buffer.capacity >= Self.capacity else { return }
        state.withLock { state in
            if state.users > 0, state.buffers.count < Self.keptAtMost { state.buffers.append(buffer) }
        }
    }

    /// Whether there is one transfer and no other, so that processors may have nothing to do.
    var hasOneUser: Bool { state.withLock { $0.users == 1 } }

    /// Lets go of all buffers, where no transfer runs.
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
    /// Reads into an array of the pool. Fewer bytes than asked for only at the end of the file.
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
