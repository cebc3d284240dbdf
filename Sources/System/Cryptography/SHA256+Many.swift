import COpenSSL

extension SHA256 {
    /// The digests of messages, in their order. Where the processor has instructions for it, two are hashed side by side, which takes
    /// less time than one after the other: the longest first, and where one ends, the next one takes its place.
    package static func hash(each messages: [ArraySlice<UInt8>]) -> [SHA256Digest] {
        guard NestedSHA256.hasInstructions != 0, messages.count > 1 else { return messages.map { hash($0) } }
        var waiting = messages.indices.sorted { messages[$0].count < messages[$1].count }
        var digests: [SHA256Digest?] = Array(repeating: nil, count: messages.count)
        func next() -> Lane? { waiting.popLast().map { Lane(index: $0, messages[$0]) } }
        var (left, right) = (next(), next())
        while var first = left, var second = right {
            Lane.update(&first, &second)
            (left, right) = (first, second)
            if first.isAtEnd {
                digests[first.index] = first.finish()
                left = next()
            }
            if second.isAtEnd {
                digests[second.index] = second.finish()
                right = next()
            }
        }
        if var last = left ?? right { digests[last.index] = last.finish() }
        return digests.compactMap(\.self)
    }

    /// A message that is being hashed.
    private struct Lane {
        let index: Int
        private var rest: ArraySlice<UInt8>
        private var context = SHA256_CTX()

        init(index: Int, _ message: ArraySlice<UInt8>) {
            self.index = index
            rest = message
            SHA256_Init(&context)
        }

        /// Whether no whole block is left.
        var isAtEnd: Bool { rest.count < Int(SHA256_CBLOCK) }

        /// Takes as many blocks of both as the one has that has fewer.
        static func update(_ left: inout Lane, _ right: inout Lane) {
            let blocks = min(left.rest.count, right.rest.count) / Int(SHA256_CBLOCK)
            left.rest.withUnsafeBufferPointer { p in
                right.rest.withUnsafeBufferPointer { q in
                    guard let p = p.baseAddress, let q = q.baseAddress else { return }
                    ferry_sha256_two_update(&left.context, p, &right.context, q, blocks)
                }
            }
            left.rest.removeFirst(blocks * Int(SHA256_CBLOCK))
            right.rest.removeFirst(blocks * Int(SHA256_CBLOCK))
        }

        mutating func finish() -> SHA256Digest {
            rest.withUnsafeBufferPointer { _ = SHA256_Update(&context, $0.baseAddress, $0.count) }
            return NestedSHA256.finish(&context)
        }
    }
}
