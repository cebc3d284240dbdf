import Cryptography
import Glibc
import SystemTestKit
import Testing

@Suite
struct ECTests {
    private let home: TemporaryDirectory
    private var directory: String { home.path }

    init() throws { home = try TemporaryDirectory() }

    private func run(_ command: String) -> Int32 { system("cd \(directory) && \(command) >/dev/null 2>&1") }

    private func read(_ name: String) throws -> [UInt8] {
        let file = try #require(fopen("\(directory)/\(name)", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    private func key(_ options: String = "-algorithm EC -pkeyopt ec_paramgen_curve:P-256") throws -> [UInt8] {
        try #require(run("openssl genpkey \(options) -out key") == 0)
        return try read("key")
    }

    @Test func `signatures are valid for their message and their key only`() throws {
        let key = try ECPrivateKey(pem: try key())
        let other = try ECPrivateKey(pem: try self.key())
        // Many, because the numbers of some begin with zeros.
        for number in 0..<600 {
            let message = Array("message \(number)".utf8)
            let signature = try key.sign(message)
            #expect(signature.count == 64 && key.publicKey.isValid(signature, for: message))
            #expect(!key.publicKey.isValid(signature, for: message + [0]))
            #expect(!other.publicKey.isValid(signature, for: message))
        }
    }

    @Test func `keys of other kinds are rejected`() throws {
        let curve = try key("-algorithm EC -pkeyopt ec_paramgen_curve:P-384")
        #expect(throws: CryptographyError.self) { try ECPrivateKey(pem: curve) }
        let rsa = try RSAPrivateKey().pem()
        #expect(throws: CryptographyError.self) { try ECPrivateKey(pem: rsa) }
        let good = try key()
        #expect(throws: CryptographyError.self) { try RSAPrivateKey(pem: good) }
        try #require(run("openssl pkcs8 -topk8 -in key -out sealed -passout pass:x") == 0)
        let sealed = try read("sealed")
        for pem in [[], Array("nonsense".utf8), Array(good.dropLast(60)), sealed] {
            #expect(throws: CryptographyError.self) { try ECPrivateKey(pem: pem) }
        }
    }
}
