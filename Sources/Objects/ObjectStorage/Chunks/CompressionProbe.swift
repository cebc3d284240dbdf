import Compression
import Glibc

/// Estimates from a few samples whether zlib would make bytes smaller.
enum CompressionProbe {
    private static let sampleLength = 4096
    private static let sampleCount = 3
    /// The entropy in bits per byte above which bytes count as noise. 12 KiB of random bytes
    /// measure 7.98 or more.
    private static let noise = 7.9

    /// Whether zlib is likely to save at least a tenth.
    static func promisesGain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > sampleLength * sampleCount * 2 else { return compresses(bytes) }
        var samples: [UInt8] = []
        samples.reserveCapacity(sampleLength * sampleCount)
        for index in 1...sampleCount {
            let start = bytes.count / (sampleCount + 1) * index
            samples.append(contentsOf: bytes[start..<start + sampleLength])
        }
        return samples.withUnsafeBytes { compresses($0) }
    }

    private static func compresses(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Counting bytes is a hundred times faster than compressing them, and most bytes that
        // cannot be compressed are noise.
        guard bytes.count < sampleLength || entropy(bytes) < noise else { return false }
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count * 9 / 10, alignment: 8)
        defer { room.deallocate() }
        guard var deflater = try? Deflater(level: 1) else { return false }
        return deflater.compress(bytes, into: room) != nil
    }

    /// The Shannon entropy of single bytes, in bits per byte.
    private static func entropy(_ bytes: UnsafeRawBufferPointer) -> Double {
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let total = Double(bytes.count)
        return counts.reduce(0) { sum, count in
            guard count > 0 else { return sum }
            let share = Double(count) / total
            return sum - share * log2(share)
        }
    }
}
