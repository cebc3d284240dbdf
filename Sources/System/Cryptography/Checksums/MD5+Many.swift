import COpenSSL

extension MD5 {
    private static let hasInstructions = ferry_md5_has_instructions() != 0
    private static let lanes = Int(ferry_md5_lanes)

    /// Returns the digests of messages, in their order.
    ///
    /// On processors with suitable instructions, eight messages of similar length are hashed side
    /// by side, which takes less time than hashing two of them one after the other.
    package static func hash(each messages: [[UInt8]]) -> [[UInt8]] {
        guard hasInstructions else { return messages.map { hash($0) } }
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
        var contexts = Array(repeating: MD5_CTX(), count: lanes)
        for lane in contexts.indices { MD5_Init(&contexts[lane]) }
        var sums: [[UInt8]] = []
        var taken = 0
        for (lane, message) in messages.enumerated().reversed() {
            let blocks = (message.count - taken) / Int(MD5_CBLOCK)
            // Lanes without a message, or with one that has ended, process the longest message
            // again. A single message is faster without lanes.
            if lane > 0, blocks > 0, let longest = messages[0].baseAddress {
                let places = (0..<lanes).map { ($0 <= lane ? messages[$0].baseAddress ?? longest : longest) + taken }
                places.map(Optional.some).withUnsafeBufferPointer {
                    ferry_md5_update(&contexts, $0.baseAddress, blocks)
                }
                taken += blocks * Int(MD5_CBLOCK)
            }
            let rest = message[taken...]
            MD5_Update(&contexts[lane], UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
            sums.append(
                [UInt8](unsafeUninitializedCapacity: Int(MD5_DIGEST_LENGTH)) { buffer, count in
                    MD5_Final(buffer.baseAddress, &contexts[lane])
                    count = Int(MD5_DIGEST_LENGTH)
                })
        }
        return sums.reversed()
    }
}
