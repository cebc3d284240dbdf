import CMultiBufferHash

/// Hashes several messages side by side, which is faster than one after the other on processors
/// with suitable instructions.
///
///     var lanes = SHA256Lanes()
///     lanes.begin(0, SHA256(), bytes)
///     while !lanes.isEmpty {
///         for (number, hash) in lanes.step() { … }
///     }
package struct SHA256Lanes: ~Copyable, @unchecked Sendable {
    // `@unchecked Sendable`: the owner also owns the memory that the pointers refer to, see
    // `begin`.

    private static let hasLanes = ferry_sha256_has_lanes() != 0
    private static let hasPairs = ferry_sha256_has_instructions() != 0
    /// The number of messages from which processing all lanes is faster than processing pairs.
    private static let leastAtOnce = hasPairs ? 7 : 2
    /// The number of messages processed at once. More would not be faster.
    package static let count = hasLanes ? Int(ferry_sha256_lanes) : 2
    /// The maximum number of blocks that `step` processes of each message, so that new messages can
    /// begin soon.
    private static let blocksAtOnce = 512

    private struct Lane {
        let number: Int
        /// The hash of the bytes before the whole blocks of this lane.
        let hash: SHA256
        /// The bytes that are not hashed yet.
        var rest: UnsafeBufferPointer<UInt8>
        /// The blocks of this lane that are hashed.
        var done = 0

        var blocks: Int { rest.count / SHA256.blockSize }
    }

    private var lanes: [Lane] = []
    private var states = Array(repeating: SHA256().state, count: Int(ferry_sha256_lanes))

    package init() {}

    package var isEmpty: Bool { lanes.isEmpty }
    /// The number of messages that can begin now.
    package var room: Int { Self.count - lanes.count }

    /// Begins with a message, or continues one. The bytes must stay in place until the message has
    /// ended.
    ///
    /// - Parameters:
    ///   - number: an identifier chosen by the caller.
    ///   - hash: the hash of the bytes before.
    package mutating func begin(_ number: Int, _ hash: SHA256, _ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(room > 0)
        // Lanes process whole blocks only.
        let first = min(bytes.count, hash.missing)
        var hash = hash
        hash.update(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<first])))
        states[lanes.count] = hash.state
        lanes.append(Lane(number: number, hash: hash, rest: UnsafeBufferPointer(rebasing: bytes[first...])))
    }

    /// Processes some bytes of each message. Returns the messages that have ended, with the hash of
    /// all their bytes.
    package mutating func step() -> [(number: Int, hash: SHA256)] {
        if let blocks = lanes.map(\.blocks).min(), blocks > 0 { advance(min(blocks, Self.blocksAtOnce)) }
        var ended: [(number: Int, hash: SHA256)] = []
        for index in lanes.indices.reversed() where lanes[index].blocks == 0 {
            var hash = lanes[index].hash
            hash.skip(lanes[index].done, to: states[index])
            hash.update(UnsafeRawBufferPointer(lanes[index].rest))
            ended.append((lanes[index].number, hash))
            lanes.swapAt(index, lanes.count - 1)
            states.swapAt(index, lanes.count - 1)
            lanes.removeLast()
        }
        return ended
    }

    private mutating func advance(_ blocks: Int) {
        let places = lanes.map(\.rest.baseAddress)
        let takesAll = Self.hasLanes && lanes.count >= Self.leastAtOnce
        states.withUnsafeMutableBufferPointer { states in
            guard let states = states.baseAddress else { return }
            if takesAll, let first = places.first {
                // Unused lanes process the first message again; their results are ignored.
                ferry_sha256_lanes_update(
                    states, places + Array(repeating: first, count: Self.count - places.count), blocks)
                return
            }
            var index = 0
            while Self.hasPairs, index + 1 < places.count {
                ferry_sha256_two_update(
                    states + index, places[index], states + index + 1, places[index + 1], blocks, Self.hasLanes ? 1 : 0)
                index += 2
            }
            while index < places.count {
                SHA256.hashBlocks(UnsafeRawPointer(places[index]), blocks, &states[index])
                index += 1
            }
        }
        for index in lanes.indices {
            lanes[index].rest = UnsafeBufferPointer(rebasing: lanes[index].rest[(blocks * SHA256.blockSize)...])
            lanes[index].done += blocks
        }
    }
}

extension SHA256 {
    /// Returns the digests of messages, in their order. Messages are hashed side by side, the
    /// longest first.
    package static func hash(each messages: [ArraySlice<UInt8>]) -> [SHA256Digest] {
        guard messages.count > 1 else { return messages.map { hash($0) } }
        var digests: [SHA256Digest?] = Array(repeating: nil, count: messages.count)
        var waiting = messages.indices.sorted { messages[$0].count < messages[$1].count }
        var lanes = SHA256Lanes()
        // The storage of an array does not move while the array is not changed.
        withExtendedLifetime(messages) {
            while !waiting.isEmpty || !lanes.isEmpty {
                while lanes.room > 0, let next = waiting.popLast() {
                    lanes.begin(next, SHA256(), messages[next].withUnsafeBufferPointer { $0 })
                }
                for (number, var hash) in lanes.step() { digests[number] = hash.finish() }
            }
        }
        return digests.compactMap(\.self)
    }
}
