import Testing

@testable import FirestoreProtocol

@Suite struct FuzzTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `mutated messages never trap, and a decoded message can be encoded and decoded again`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for message in GoldenMessage.all {
            for _ in 0..<60 {
                let bytes = Self.mutated(message.bytes, &random)
                guard let first = try? message.type.init(decoding: bytes) else { continue }
                let encoded = first.encoded()
                let again = try message.type.init(decoding: encoded)
                #expect(again.encoded() == encoded, "seed \(seed): \(message.type) \(bytes)")
            }
        }
    }

    private static func mutated(_ original: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[index] = .random(in: 0...255, using: &random)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(.random(in: 0...255, using: &random), at: index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(Int.random(in: 0...20, using: &random)), at: index)
            }
        }
        return bytes
    }
}
