import COpenSSL

/// A digest in progress in OpenSSL, which uses processor instructions (SHA-NI, AVX2) if available.
///
/// `@unchecked Sendable`: the context is owned by this noncopyable value and only accessed in
/// `mutating` methods.
struct MessageDigest: ~Copyable, @unchecked Sendable {
    /// An algorithm, fetched once: looking it up by name takes longer than hashing a short message.
    struct Algorithm: @unchecked Sendable {
        // Immutable after the fetch, according to EVP_MD_fetch(3). Never freed, because it is
        // stored in a `static let`.
        fileprivate let method: OpaquePointer
        let byteCount: Int

        init(named name: String) {
            guard let method = EVP_MD_fetch(nil, name, nil) else {
                preconditionFailure("OpenSSL offers no \(name); is its default provider configured?")
            }
            self.method = method
            self.byteCount = Int(EVP_MD_get_size(method))
        }
    }

    private let context: OpaquePointer
    private let algorithm: Algorithm

    init(_ algorithm: Algorithm) {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        self.context = context
        self.algorithm = algorithm
        restart()
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        precondition(EVP_DigestUpdate(context, base, bytes.count) == 1, "EVP_DigestUpdate failed")
    }

    /// Writes the digest to `output`, which must have at least `algorithm.byteCount` bytes, and
    /// starts a new message.
    mutating func finish(into output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= algorithm.byteCount)
        precondition(
            EVP_DigestFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1,
            "EVP_DigestFinal_ex failed")
        restart()
    }

    private func restart() {
        precondition(EVP_DigestInit_ex2(context, algorithm.method, nil) == 1, "EVP_DigestInit_ex2 failed")
    }
}
