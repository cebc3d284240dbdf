import Cryptography
import Glibc
import SystemTestKit
import Testing

@Suite
struct RSATests {
    @Test func `a signature is valid for its message and its key only`() throws {
        let key = try RSAPrivateKey()
        let message = Array("message".utf8)
        let signature = try key.sign(message)
        #expect(key.publicKey.isValid(signature, for: message))
        #expect(!key.publicKey.isValid(signature, for: message + [0]))
        #expect(!key.publicKey.isValid(Array(signature.dropLast()), for: message))
        #expect(!key.publicKey.isValid([], for: []))
        var damaged = signature
        damaged[10] ^= 1
        #expect(!key.publicKey.isValid(damaged, for: message))
        #expect(!(try RSAPrivateKey().publicKey.isValid(signature, for: message)))
    }

    @Test func `a key comes back from its PEM and from modulus and exponent`() throws {
        let key = try RSAPrivateKey()
        let again = try RSAPrivateKey(pem: try key.pem())
        #expect(again.publicKey.modulus == key.publicKey.modulus)
        #expect(key.publicKey.exponent == [1, 0, 1] && key.publicKey.modulus.count == 256)
        let checker = try RSAPublicKey(modulus: [0] + key.publicKey.modulus, exponent: key.publicKey.exponent)
        #expect(checker.isValid(try again.sign([1, 2, 3]), for: [1, 2, 3]))
    }

    @Test(arguments: [
        [], Array("nonsense".utf8), Array("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".utf8),
    ])
    func `an invalid key is rejected`(pem: [UInt8]) {
        #expect(throws: CryptographyError.self) { try RSAPrivateKey(pem: pem) }
        #expect(throws: CryptographyError.self) { try RSAPublicKey(modulus: pem, exponent: [1, 0, 1]) }
    }

    @Test func `openssl reads the key and accepts the signature`() throws {
        let home = try TemporaryDirectory()
        let directory = home.path
        func write(_ name: String, _ bytes: [UInt8]) throws {
            let file = try #require(fopen("\(directory)/\(name)", "w"))
            defer { fclose(file) }
            #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        }
        let key = try RSAPrivateKey()
        try write("key", try key.pem())
        try write("message", [1, 2, 3])
        try write("signature", try key.sign([1, 2, 3]))
        #expect(system("openssl pkey -in \(directory)/key -pubout -out \(directory)/public 2>/dev/null") == 0)
        let check = "openssl dgst -sha256 -verify \(directory)/public -signature \(directory)/signature"
        #expect(system("\(check) \(directory)/message >/dev/null") == 0)
        withExtendedLifetime(home) {}
    }
}
