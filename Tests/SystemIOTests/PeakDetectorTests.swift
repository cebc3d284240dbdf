import SystemIO
import Testing

struct PeakDetectorTests {
    @Test func `memory is given back after each peak, also one between two looks`() {
        var detector = PeakDetector()
        let megabytes = [
            (10, 20), (100, 120), (20, 120), (20, 40), (20, 55), (20, 56), (20, 30), (30, 35), (20, 41), (20, 30),
            (20, 45),
        ]
        let past = megabytes.map { detector.isPast(inUse: $0 << 20, resident: $1 << 20) }
        // Beyond the use are 10, 20, 100, 20, 35, 36, 10, 5, 21, 10 and 25 MiB.
        #expect(megabytes.indices.filter { past[$0] } == [2, 5, 8])
        #expect(!detector.isPast(inUse: .max, resident: .min) && detector.isPast(inUse: .min, resident: .max))
    }

    @Test func `freed memory is no longer in use, and a trim returns it`() throws {
        var blocks = (0..<4000).map { _ in [UInt8](repeating: 1, count: 4 << 10) }
        // Keeps the pages before it in the heap.
        let last = [UInt8](repeating: 1, count: 4 << 10)
        let before = (inUse: ProcessMemory.inUse, resident: try #require(ProcessMemory.resident))
        #expect(before.inUse > 15 << 20 && before.resident > 15 << 20)
        blocks = []
        #expect(before.inUse - ProcessMemory.inUse > 10 << 20)
        ProcessMemory.trim()
        #expect(before.resident - (try #require(ProcessMemory.resident)) > 10 << 20)
        #expect(blocks.isEmpty && last.count > 0)
    }
}
