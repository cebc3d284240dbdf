import Cryptography
import Testing

@Suite struct EncodingTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64 matches the vectors of RFC 4648`(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let unpadded = encoded.filter { $0 != "=" }
        #expect(Base64.encode(Array(plain.utf8), alphabet: .url) == unpadded)
        #expect(Base64.decode(unpadded, alphabet: .url) == Array(plain.utf8))
        #expect(Base64.decode(encoded, alphabet: .url) == Array(plain.utf8))
    }

    @Test func `the alphabets differ in their last two digits and do not mix`() {
        let bytes: [UInt8] = [0xFB, 0xFF, 0xFE]
        #expect(Base64.encode(bytes) == "+//+")
        #expect(Base64.encode(bytes, alphabet: .url) == "-__-")
        #expect(Base64.decode("-__-") == nil)
        #expect(Base64.decode("+//+", alphabet: .url) == nil)
    }

    @Test(arguments: ["Z", "Zg", "Zg=", "Zg===", "=Zg=", "Zh==", "Zm9", "Zm9v ", "Zm9v\n", "Zm9é", "====", "Z==="])
    func `text that is not base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: 0..<50)
    func `an encoded message decodes to itself`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bytes = (0..<Int.random(in: 0..<100, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
        #expect(Base64.decode(Base64.encode(bytes)) == bytes, "seed \(seed)")
        #expect(Base64.decode(Base64.encode(bytes, alphabet: .url), alphabet: .url) == bytes, "seed \(seed)")
        #expect(Hex.decode(Hex.encode(bytes)) == bytes, "seed \(seed)")
        #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes, "seed \(seed)")
    }

    @Test(arguments: ["0", "0g", "xx", " 00", "0é"])
    func `text that is not hexadecimal is refused`(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test func `secrets compare by length and by every byte`() {
        #expect(ConstantTime.areEqual([], []))
        #expect(ConstantTime.areEqual("secret", "secret"))
        #expect(!ConstantTime.areEqual("secret", "secreT"))
        #expect(!ConstantTime.areEqual("secret", "Secret"))
        #expect(!ConstantTime.areEqual("secret", "secret "))
    }

    @Test func `tokens are safe in a URL, of the requested length, and unique`() {
        let tokens = (0..<1000).map { _ in RandomBytes.token() }
        #expect(Set(tokens).count == tokens.count)
        #expect(tokens.allSatisfy { Base64.decode($0, alphabet: .url)?.count == 32 })
        #expect(RandomBytes.make(0).isEmpty)
        #expect(RandomBytes.make(17).count == 17)
    }
}
