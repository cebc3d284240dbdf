import COpenSSL

/// The password-based key derivation of RFC 7914, which is deliberately slow and memory-intensive.
package enum Scrypt {
    /// The cost of a derivation: about `128 * blockSize * cost` bytes of memory, and time
    /// proportional to that and to `parallelism`.
    package struct Parameters: Hashable, Sendable {
        /// The CPU and memory cost, a power of two.
        package var cost: Int
        package var blockSize: Int
        package var parallelism: Int

        package init(cost: Int, blockSize: Int = 8, parallelism: Int = 1) {
            self.cost = cost
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// Parameters that take 32 MiB and 60 to 100 ms on a current core: twice the cost that RFC
        /// 7914 gives for interactive logins.
        package static let interactive = Parameters(cost: 1 << 15)
    }

    /// The maximum memory of a derivation, even if the parameters come from a file.
    private static let memoryLimit: UInt64 = 256 << 20

    /// Derives a key. Blocks its thread, so it must not be called on Swift's cooperative pool.
    ///
    /// Throws for parameters that are not allowed or need more than 256 MiB.
    package static func derive(
        password: [UInt8], salt: [UInt8], _ parameters: Parameters, byteCount: Int = 32
    ) throws -> [UInt8] {
        guard parameters.cost > 1, parameters.blockSize > 0, parameters.parallelism > 0, byteCount > 0 else {
            throw CryptographyError("The parameters of scrypt are not positive")
        }
        var key = [UInt8](repeating: 0, count: byteCount)
        let code = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count,
                UInt64(parameters.cost), UInt64(parameters.blockSize), UInt64(parameters.parallelism), memoryLimit,
                &key, byteCount)
        }
        guard code == 1 else { throw CryptographyError("scrypt refused its parameters") }
        return key
    }
}
