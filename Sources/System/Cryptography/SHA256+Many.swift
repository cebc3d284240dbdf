import COpenSSL

extension SHA256 {
    /// The digests of messages, in their order. Where the processor has instructions for it, two are hashed side by side, which takes
    /// hardly longer than one: those of like length, as what is longer than the other is hashed alone.
    package static func hash(each messages: [ArraySlice<UInt8>]) -> [SHA256Digest] {
        guard NestedSHA256.hasInstructions != 0 else { return messages.map { hash($0) } }
        var order = messages.indices.sorted { messages[$0].count < messages[$1].count }
        var digests: [(index: Int, digest: SHA256Digest)] = []
        while let first = order.popLast() {
            guard let second = order.popLast() else {
                digests.append((first, hash(messages[first])))
                break
            }
            let (left, right) = hash(messages[first], messages[second])
            digests += [(first, left), (second, right)]
        }
        return digests.sorted { $0.index < $1.index }.map(\.digest)
    }

    private static func hash(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> (SHA256Digest, SHA256Digest) {
        var (first, second) = (SHA256_CTX(), SHA256_CTX())
        SHA256_Init(&first)
        SHA256_Init(&second)
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in
                ferry_sha256_two_update(
                    &first, left.baseAddress, left.count, &second, right.baseAddress, right.count)
            }
        }
        return (NestedSHA256.finish(&first), NestedSHA256.finish(&second))
    }
}
