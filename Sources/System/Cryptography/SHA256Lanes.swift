import COpenSSL

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
        var rest: UnsafeBufferPointer<UInt8>

        var blocks: Int { rest.count / Int(SHA256_CBLOCK) }
    }

    private var lanes: [Lane] = []
    private var contexts = Array(repeating: SHA256_CTX(), count: Int(ferry_sha256_lanes))

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
        let block = Int(SHA256_CBLOCK)
        let first = min(bytes.count, (block - Int(hash.context.num)) % block)
        var hash = hash
        hash.update(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<first])))
        contexts[lanes.count] = hash.context
        lanes.append(Lane(number: number, rest: UnsafeBufferPointer(rebasing: bytes[first...])))
    }

    /// Processes some bytes of each message. Returns the messages that have ended, with the hash of
    /// all their bytes.
    package mutating func step() -> [(number: Int, hash: SHA256)] {
        if let blocks = lanes.map(\.blocks).min(), blocks > 0 { advance(min(blocks, Self.blocksAtOnce)) }
        var ended: [(number: Int, hash: SHA256)] = []
        for index in lanes.indices.reversed() where lanes[index].blocks == 0 {
            var hash = SHA256()
            hash.context = contexts[index]
            hash.update(UnsafeRawBufferPointer(lanes[index].rest))
            ended.append((lanes[index].number, hash))
            lanes.swapAt(index, lanes.count - 1)
            contexts.swapAt(index, lanes.count - 1)
            lanes.removeLast()
        }
        return ended
    }

    private mutating func advance(_ blocks: Int) {
        let bytes = blocks * Int(SHA256_CBLOCK)
        let places = lanes.map(\.rest.baseAddress)
        let takesAll = Self.hasLanes && lanes.count >= Self.leastAtOnce
        var index = 0
        contexts.withUnsafeMutableBufferPointer { contexts in
            guard let contexts = contexts.baseAddress else { return }
            if takesAll, let first = places.first {
                // Unused lanes process the first message again; their results are ignored.
                ferry_sha256_lanes_update(
                    contexts, places + Array(repeating: first, count: Self.count - places.count), blocks)
                return
            }
            while Self.hasPairs, index + 1 < places.count {
                ferry_sha256_two_update(
                    contexts + index, places[index], contexts + index + 1, places[index + 1], blocks,
                    Self.hasLanes ? 1 : 0)
                index += 2
            }
            while index < places.count {
                SHA256_Update(contexts + index, places[index], bytes)
                index += 1
            }
        }
        for index in lanes.indices {
            lanes[index].rest = UnsafeBufferPointer(rebasing: lanes[index].rest[bytes...])
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
