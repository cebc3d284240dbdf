import SystemIO
import Testing

struct PeakDetectorTests {
    @Test func `memory is given back after each peak, and not in between`() {
        var detector = PeakDetector()
        let megabytes = [10, 20, 300, 290, 285, 284, 283, 100, 100, 90, 84, 120, 110, 103, 300, 20]
        let past = megabytes.map { detector.isPast(inUse: $0 << 20) }
        // The values fall from 300 to 284, from 284 to 100, from 100 to 84, from 120 to 103 and
        // from 300 to 20.
        #expect(megabytes.indices.filter { past[$0] } == [5, 7, 10, 13, 15])
    }

    @Test func `freed memory is no longer in use`() {
        var blocks = (0..<4000).map { _ in [UInt8](repeating: 1, count: 4 << 10) }
        let before = ProcessMemory.heapInUse
        #expect(before > 15 << 20)
        blocks = []
        ProcessMemory.trim()
        #expect(before - ProcessMemory.heapInUse > 10 << 20)
        #expect(blocks.isEmpty)
    }
}
