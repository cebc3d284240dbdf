import CMultiBufferHash

extension MD5 {
    private static let hasLanes = ferry_md5_has_lanes() != 0
    private static let lanes = Int(ferry_md5_lanes)

    /// Returns the digests of messages, in their order.
    ///
    /// On processors with suitable instructions, eight messages of similar length are hashed side
    /// by side, which takes less time than hashing two of them one after the other.
    package static func hash(each messages: [[UInt8]]) -> [[UInt8]] {
        guard hasLanes else { return messages.map { hash($0) } }
        let longestFirst = messages.indices.sorted { messages[$0].count > messages[$1].count }
        var all = Array(repeating: [UInt8](), count: messages.count)
        for start in stride(from: 0, to: messages.count, by: lanes) {
            let some = longestFirst[start..<min(start + lanes, messages.count)]
            withBytes(of: some.map { messages[$0] }) { bytes in
                for (index, sum) in zip(some, sums(longestFirst: bytes)) { all[index] = sum }
            }
        }
        return all
    }

    private static func withBytes(
        of messages: [[UInt8]], _ before: [UnsafeBufferPointer<UInt8>] = [],
        _ body: ([UnsafeBufferPointer<UInt8>]) -> Void
    ) {
        guard before.count < messages.count else { return body(before) }
        messages[before.count].withUnsafeBufferPointer { withBytes(of: messages, before + [$0], body) }
    }

    /// Returns the digests of at most as many messages as there are lanes.
    private static func sums(longestFirst messages: [UnsafeBufferPointer<UInt8>]) -> [[UInt8]] {
        // RFC 1321, 3.3.
        let start = ferry_md5_state(a: 0x6745_2301, b: 0xefcd_ab89, c: 0x98ba_dcfe, d: 0x1032_5476)
        var states = Array(repeating: start, count: lanes)
        let blockSize = Int(ferry_md5_block)
        var sums: [[UInt8]] = []
        var taken = 0
        for (lane, message) in messages.enumerated().reversed() {
            let blocks = (message.count - taken) / blockSize
            // Lanes without a message, or with one that has ended, process the longest message
            // again. A single message is faster without lanes.
            if lane > 0, blocks > 0, let longest = messages[0].baseAddress {
                let places = (0..<lanes).map { ($0 <= lane ? messages[$0].baseAddress ?? longest : longest) + taken }
                places.map(Optional.some).withUnsafeBufferPointer {
                    ferry_md5_lanes_update(&states, $0.baseAddress, blocks)
                }
                taken += blocks * blockSize
            }
            sums.append(finish(states[lane], message, from: taken))
        }
        return sums.reversed()
    }

    /// Returns the digest of a message whose first bytes, whole blocks, are hashed.
    private static func finish(
        _ state: ferry_md5_state, _ message: UnsafeBufferPointer<UInt8>, from hashed: Int
    ) -> [UInt8] {
        let blockSize = Int(ferry_md5_block)
        var state = state
        let whole = (message.count - hashed) / blockSize
        if let base = message.baseAddress { ferry_md5_update(&state, base + hashed, whole) }
        // RFC 1321, 3.1 and 3.2: a one, zeros, and the number of bits, to the end of a block.
        var last = message[(hashed + whole * blockSize)...] + [0x80]
        last += [UInt8](repeating: 0, count: (2 * blockSize - 8 - last.count) % blockSize)
        for shift in stride(from: 0, to: 64, by: 8) {
            last.append(UInt8(truncatingIfNeeded: (message.count << 3) >> shift))
        }
        ferry_md5_update(&state, last, last.count / blockSize)
        return [state.a, state.b, state.c, state.d].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }
}
