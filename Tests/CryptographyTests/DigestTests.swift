import CMultiBufferHash
import Testing

@testable import Cryptography

@Suite struct DigestTests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 matches the vectors of FIPS 180-4`(message: String, hex: String) {
        #expect(SHA256.hash(message).hex == hex)
        #expect(SHA256.hash(Array(message.utf8)).hex == hex)
    }

    @Test func `a message hashed in parts has the digest of the whole, and finish resets the hash`() {
        let message = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var hash = SHA256()
        for start in stride(from: 0, to: message.count, by: 777) {
            hash.update(message[start..<min(start + 777, message.count)])
        }
        #expect(hash.finish() == SHA256.hash(message))
        hash.update("abc")
        #expect(hash.finish() == SHA256.hash("abc"))
    }

    @Test func `messages that are hashed side by side have the same digests as alone`() {
        var generator = SeededGenerator(seed: 20_261_122)
        var lanes = SHA256Lanes()
        var wholes = (0..<12).map { _ in (hash: SHA256(), bytes: [UInt8]()) }
        var idle = Array(wholes.indices)
        for _ in 0..<3_000 {
            if lanes.room > 0, Bool.random(using: &generator), let number = idle.popLast() {
                let most = [1, 63, 64, 65, 128, 5_000, 100_000].randomElement(using: &generator) ?? 0
                let count = Int.random(in: 0...most, using: &generator)
                let part = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ wholes[number].bytes.count) }
                let begin = wholes[number].bytes.count
                wholes[number].bytes += part
                // The bytes stay in place until the computation has ended.
                wholes[number].bytes.withUnsafeBufferPointer {
                    lanes.begin(number, wholes[number].hash, UnsafeBufferPointer(rebasing: $0[begin...]))
                }
            } else {
                for (number, hash) in lanes.step() {
                    wholes[number].hash = hash
                    var hash = hash
                    #expect(hash.finish() == SHA256.hash(wholes[number].bytes))
                    if wholes[number].bytes.count > 200_000 { wholes[number] = (SHA256(), []) }
                    idle.insert(number, at: 0)
                }
            }
        }
        while !lanes.isEmpty { _ = lanes.step() }
    }

    @Test func `messages that are hashed together have the digests that each has alone`() {
        var generator = SeededGenerator(seed: 20_261_126)
        for count in 0..<40 {
            let messages = (0..<count).map { _ in
                let most = [0, 1, 63, 64, 65, 200, 5_000].randomElement(using: &generator) ?? 0
                let bytes = (0..<Int.random(in: 0...most, using: &generator) + 3).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                return bytes.dropFirst(3)
            }
            #expect(SHA256.hash(each: messages) == messages.map { SHA256.hash($0) })
            #expect(MD5.hash(each: messages.map { Array($0) }) == messages.map { MD5.hash(Array($0)) })
        }
    }

    @Test(
        .enabled(if: ferry_sha256_has_instructions() != 0), arguments: ferry_sha256_has_lanes() != 0 ? [0, 1] : [0],
        [1, 2, 17])
    func `two messages side by side have their digests, with and without rotating vectors`(rotates: Int32, blocks: Int)
    {
        var generator = SeededGenerator(seed: UInt64(blocks))
        let messages = (0..<2).map { _ in
            (0..<64 * blocks).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        var (first, second) = (SHA256().state, SHA256().state)
        ferry_sha256_two_update(&first, messages[0], &second, messages[1], blocks, rotates)
        #expect(words(first) == words(state(after: messages[0])))
        #expect(words(second) == words(state(after: messages[1])))
    }

    private func state(after message: [UInt8]) -> ferry_sha256_state {
        var hash = SHA256()
        hash.update(message)
        return hash.state
    }

    private func words(_ state: ferry_sha256_state) -> [UInt32] {
        withUnsafeBytes(of: state.h) { Array($0.bindMemory(to: UInt32.self)) }
    }

    @Test func `a digest of any length, in any parts, is that of OpenSSL's own context`() {
        var generator = SeededGenerator(seed: 20_261_128)
        for length in Array(0...200) + [4_095, 65_536, 100_001] {
            let message = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var hash = SHA256()
            var known = MessageDigest(MessageDigest.Algorithm(named: "SHA256"))
            var start = 0
            while start < length {
                let end = min(length, start + Int.random(in: 1...max(1, length / 3), using: &generator))
                hash.update(message[start..<end])
                start = end
            }
            message.withUnsafeBytes { known.update($0) }
            var expected = [UInt8](repeating: 0, count: 32)
            expected.withUnsafeMutableBytes { known.finish(into: $0) }
            #expect(hash.finish().bytes == expected)
        }
    }

    @Test(arguments: [1, 2, 8])
    func `a message of more than 512 MiB, whose bits take two words to count, has its digest`(beside: Int) {
        let block = [UInt8](repeating: 0x5A, count: 8 << 20)
        var (first, alone) = (SHA256(), SHA256())
        for _ in 0..<65 {
            var lanes = SHA256Lanes()
            block.withUnsafeBufferPointer { bytes in
                for number in 0..<min(beside, lanes.room) { lanes.begin(number, number == 0 ? first : SHA256(), bytes) }
                while !lanes.isEmpty {
                    for (number, hash) in lanes.step() where number == 0 { first = hash }
                }
            }
            alone.update(block)
        }
        #expect(first.finish() == alone.finish())
    }

    @Test func `a digest survives its bytes and its hex, and nothing shorter or longer is one`() {
        let digest = SHA256.hash("abc")
        #expect(SHA256Digest(bytes: digest.bytes) == digest)
        #expect(SHA256Digest(hex: digest.hex) == digest)
        #expect(SHA256Digest(hex: digest.hex.uppercased()) == digest)
        #expect(SHA256Digest(bytes: digest.bytes.dropLast()) == nil)
        #expect(SHA256Digest(hex: digest.hex + "00") == nil)
        #expect(SHA256Digest(hex: "g" + digest.hex.dropFirst()) == nil)
    }

    @Test func `digests sort as their hex does`() {
        let digests = (0..<200).map { SHA256.hash("\($0)") }
        #expect(digests.sorted().map(\.hex) == digests.map(\.hex).sorted())
    }

    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ])
    func `MD5 matches the vectors of RFC 1321`(message: String, hex: String) {
        #expect(Hex.encode(MD5.hash(Array(message.utf8))) == hex)
    }

    @Test func `HMAC matches vectors one, two and six of RFC 4231`() {
        let first = HMACSHA256.authenticate("Hi There", key: [UInt8](repeating: 0x0b, count: 20))
        #expect(first.hex == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        let second = HMACSHA256.authenticate("what do ya want for nothing?", key: Array("Jefe".utf8))
        #expect(second.hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let sixth = HMACSHA256.authenticate(
            "Test Using Larger Than Block-Size Key - Hash Key First", key: [UInt8](repeating: 0xaa, count: 131))
        #expect(sixth.hex == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test func `HMAC with SHA-1 matches vector two of RFC 2202`() {
        #expect(
            Hex.encode(HMACSHA1.authenticate("what do ya want for nothing?", key: "Jefe"))
                == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    }

    @Test func `a code is valid for its message and key only`() {
        let (message, key) = (Array("message".utf8), Array("key".utf8))
        let code = HMACSHA256.authenticate(message, key: key).bytes
        #expect(HMACSHA256.isValid(code, for: message, key: key))
        #expect(!HMACSHA256.isValid(code, for: message + [0], key: key))
        #expect(!HMACSHA256.isValid(code, for: message, key: key + [1]))
        #expect(!HMACSHA256.isValid(Array(code.dropLast()), for: message, key: key))
    }

    @Test func `an empty key and an empty message have a code`() {
        #expect(
            HMACSHA256.authenticate([], key: []).hex
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test(arguments: 0..<20)
    func `the checks match their vectors for any split of the message`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let digits = Array("123456789".utf8)
        #expect(CRC32.checksum(digits, .ieee) == 0xCBF4_3926)
        #expect(CRC32.checksum(digits, .castagnoli) == 0xE306_9283)
        let message = (0..<Int.random(in: 0..<500, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
        for polynomial in [CRC32.Polynomial.ieee, .castagnoli] {
            var whole = CRC32(polynomial)
            whole.update(message)
            var bytewise = CRC32(polynomial)
            for byte in message { bytewise.update([byte]) }
            #expect(whole.value == bytewise.value, "seed \(seed)")
            let cut = Int.random(in: 0...message.count, using: &generator)
            var parts = CRC32(polynomial)
            parts.update(message[..<cut])
            parts.update(message[cut...])
            #expect(parts.value == whole.value, "seed \(seed)")
        }
    }

    @Test func `the check of 64 bits matches its vectors for any split of the message`() {
        var whole = CRC64()
        whole.update(Array("123456789".utf8))
        #expect(whole.value == 0xAE8B_1486_0A79_9888)
        #expect(whole.bytes == [0xAE, 0x8B, 0x14, 0x86, 0x0A, 0x79, 0x98, 0x88])
        // NVM Express, NVM Command Set Specification: 4 KiB of zeros, and of ones.
        for (byte, expected) in [(0x00, 0x6482_D367_EB22_B64E), (0xFF, 0xC0DD_BA73_02EC_A3AC)] as [(UInt8, UInt64)] {
            let message = [UInt8](repeating: byte, count: 4096)
            var check = CRC64()
            check.update(message)
            #expect(check.value == expected)
            var parts = CRC64()
            for start in stride(from: 0, to: 4096, by: 13) {
                parts.update(Array(message[start..<min(start + 13, 4096)]))
            }
            #expect(parts.value == expected)
        }
        #expect(CRC64().value == 0)
    }

    @Test func `SHA-1 matches its vector`() {
        #expect(Hex.encode(SHA1.hash(Array("abc".utf8))) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    }

    @Test func `a check is encoded in network byte order`() {
        var check = CRC32(.ieee)
        check.update(Array("123456789".utf8))
        #expect(check.bytes == [0xCB, 0xF4, 0x39, 0x26])
    }

    /// The tags that Python's `cryptography` computes for an empty message with this additional
    /// data.
    @Test func `a GMAC is the same as that of other implementations`() {
        let mac = GMAC(key: (0..<16).map { UInt8($0) })
        #expect(Hex.encode(mac.tag(of: [])) == "7346139595c0b41e497bbde365f42d0a")
        #expect(Hex.encode(mac.tag(of: Array("abc".utf8)[...])) == "71c97e7265176abb1ea435384743293d")
        let long = (0..<1_280_000).map { UInt8(truncatingIfNeeded: $0) }[...]
        #expect(Hex.encode(mac.tag(of: long)) == "778ee5efffef5505e64b0374202766f8")
    }
}
