import Cryptography
import Testing

@testable import ObjectStorage

@Suite struct SharedHashingTests {
    @Test(arguments: [1, 2, 3, 7, 30], [1, 8])
    func `hashes computed in a batch are those computed alone`(fileCount: Int, processors: Int) async {
        let hashing = HashBatcher(processors: processors)
        await withTaskGroup { group in
            for file in 0..<fileCount {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(file))
                    var (whole, alone) = (SHA256(), SHA256())
                    for _ in 0..<20 {
                        let length = Int.random(in: 0...200_000, using: &generator)
                        let chunk = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* (file + 3)) }
                        let object = ChunkHeader(codec: .raw, rawLength: length).bytes + chunk
                        alone.update(chunk)
                        if Bool.random(using: &generator) {
                            let id = await hashing.addChunk(object, to: &whole)
                            #expect(id == ContentHash(ofChunk: chunk[...]))
                        } else {
                            whole = await hashing.update(whole, with: object, from: ChunkHeader.byteCount).whole
                        }
                    }
                    #expect(whole.finish() == alone.finish())
                }
            }
        }
    }
}
