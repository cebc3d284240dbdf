import Cryptography
import SystemIO
import Testing

@testable import BucketStore

struct DigestBatcherTests {
    @Test(arguments: [1, 3])
    func `bodies that wait together have the digests that each has alone`(threadCount: Int) async throws {
        let threads = try WorkerThreads(count: threadCount, named: "hashing")
        defer { threads.stop() }
        let hashing = DigestBatcher()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let bytes = (0..<number * 37 % 1000 * 5).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
                    // Every combination of digests, including none.
                    let wanted = ObjectDigests.Wanted(rawValue: number % 64)
                    let digests = await hashing.digests(of: bytes, wanted, on: threads)
                    var hasher = ObjectHasher(wanted)
                    hasher.update(bytes)
                    let alone = hasher.finish()
                    #expect(digests.sha256 == alone.sha256 && digests.md5 == alone.md5, "\(number)")
                    #expect(digests.crc32 == alone.crc32 && digests.crc32c == alone.crc32c, "\(number)")
                    #expect(digests.crc64 == alone.crc64 && digests.sha1 == alone.sha1, "\(number)")
                    #expect((digests.md5 != nil) == wanted.contains(.md5))
                }
            }
            try await group.waitForAll()
        }
    }
}
