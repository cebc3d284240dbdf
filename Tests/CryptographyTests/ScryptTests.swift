import Cryptography
import Testing

@Suite
struct ScryptTests {
    /// The vectors of RFC 7914 §12 that are fast enough for a test.
    @Test(arguments: [
        ("", "", Scrypt.Parameters(cost: 16, blockSize: 1, parallelism: 1), "77d6576238657b203b19ca42c18a0497"),
        (
            "password", "NaCl", Scrypt.Parameters(cost: 1024, blockSize: 8, parallelism: 16),
            "fdbabe1c9d3472007856e7190d01e9fe"
        ),
        (
            "pleaseletmein", "SodiumChloride", Scrypt.Parameters(cost: 16384, blockSize: 8, parallelism: 1),
            "7023bdcb3afd7348461c06cd81fd38eb"
        ),
    ])
    func `the vectors of the standard come out`(
        password: String, salt: String, parameters: Scrypt.Parameters, expected: String
    ) throws {
        let key = try Scrypt.derive(
            password: Array(password.utf8), salt: Array(salt.utf8), parameters, byteCount: 64)
        #expect(Hex.encode(key.prefix(16)) == expected)
    }

    @Test(arguments: [(0, 8, 1), (3, 8, 1), (-16, 8, 1), (16, 0, 1), (16, 8, -1), (1 << 20, 8, 1), (1 << 62, 8, 1)])
    func `parameters that make no sense, or too much work, are refused`(cost: Int, blockSize: Int, parallelism: Int) {
        let parameters = Scrypt.Parameters(cost: cost, blockSize: blockSize, parallelism: parallelism)
        #expect(throws: CryptographyError.self) { try Scrypt.derive(password: [], salt: [], parameters) }
    }
}
