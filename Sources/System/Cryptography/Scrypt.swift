import COpenSSL

/// The password-based key derivation of RFC 7914: slow and memory-hungry on purpose.
package enum Scrypt {
    /// What the work costs: about `128 * blockSize * cost` bytes of memory, and time in proportion to that and to
    /// `parallelism`.
    package struct Parameters: Hashable, Sendable {
        /// A power of two.
        package var cost: Int
        package var blockSize: Int
        package var parallelism: Int

        package init(cost: Int, blockSize: Int = 8, parallelism: Int = 1) {
            self.cost = cost
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// 32 MiB and 60 to 100 ms on a current core; twice the cost that RFC 7914 names for interactive logins.
        package static let interactive = Parameters(cost: 1 << 15)
    }

    /// Memory that a derivation may take, whatever parameters a file names.
    private static let memoryLimit: UInt64 = 256 << 20

    /// Blocks its thread for as long as it takes, so call it off the cooperative pool. Throws for parameters that are
    /// not allowed or need more than 256 MiB.
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
