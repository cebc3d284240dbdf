import CGear

/// Cuts content into chunks at places that depend only on the bytes around them, so an insertion
/// changes the chunks around it and no others.
///
/// FastCDC with normalized chunking: W. Xia, Y. Zhou, H. Jiang, D. Feng, Y. Hua, Y. Hu, Q. Liu and
/// Y. Zhang, "FastCDC: a Fast and Efficient Content-Defined Chunking Approach for Data
/// Deduplication", USENIX ATC 2016. A gear hash rolls over the bytes after the minimum length. Up
/// to seven eighths of the normal length a cut needs two more zero bits than the normal length
/// implies, after that three fewer. As a result most chunks are close to the normal length and few
/// are much longer. That matters because the cost of one inserted byte is the length of the chunk
/// that it falls into, and longer chunks are hit more often. The tested bits are the topmost ones,
/// which depend on all of the last 64 bytes.
///
/// The places of the cuts are part of Ferry's format, and tests pin them.
public struct Chunker: Sendable {
    /// The limits of the length of the chunks.
    public let sizes: ChunkSizes

    private static let hasInstructions = ferry_gear_is_fast() != 0

    private let strictMask: UInt64
    private let lenientMask: UInt64
    private var hash: UInt64 = 0
    private var position = 0

    /// Creates a chunker at the start of a file.
    public init(sizes: ChunkSizes = .standard) {
        self.sizes = sizes
        let bits = UInt64(sizes.normal.trailingZeroBitCount)
        strictMask = ~0 << (64 - (bits + 2))
        lenientMask = ~0 << (64 - (bits - 3))
    }

    /// Continues the search for the end of the current chunk in the bytes that follow those of the
    /// previous calls.
    ///
    /// Returns how many of `bytes` belong to the current chunk; the next call must begin with the
    /// byte after them. Returns nil if all of them belong to it and it has not ended.
    public mutating func boundary(in bytes: UnsafeRawBufferPointer) -> Int? {
        var offset = 0
        if position < sizes.minimum {
            offset = min(sizes.minimum - position, bytes.count)
            position += offset
        }
        let strictEnd = max(sizes.minimum, sizes.normal / 8 * 7)
        for (end, mask) in [(strictEnd, strictMask), (sizes.maximum, lenientMask)] where position < end {
            let stop = offset + min(end - position, bytes.count - offset)
            let cut = scan(bytes, from: offset, to: stop, mask: mask)
            if let cut {
                restart()
                return cut
            }
            position += stop - offset
            offset = stop
        }
        guard position >= sizes.maximum else { return nil }
        restart()
        return offset
    }

    /// Forgets the current chunk, so that the next call is at the start of a file.
    public mutating func restart() {
        hash = 0
        position = 0
    }

    /// Returns the lengths of all chunks of `content`, in order.
    public static func lengths(of content: [UInt8], sizes: ChunkSizes = .standard) -> [Int] {
        var chunker = Chunker(sizes: sizes)
        var lengths: [Int] = []
        content.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let length =
                    chunker.boundary(in: UnsafeRawBufferPointer(rebasing: bytes[start...])) ?? bytes.count - start
                lengths.append(length)
                start += length
            }
        }
        return lengths
    }

    /// Rolls the hash over `bytes[start..<stop]`. Returns the offset after the first byte at which
    /// all bits of the mask are zero in the hash.
    @inline(__always)
    private mutating func scan(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to stop: Int, mask: UInt64
    ) -> Int? {
        guard let base = bytes.baseAddress, start < stop else { return nil }
        return Gear.table.withUnsafeBufferPointer { table -> Int? in
            guard let gear = table.baseAddress else { return nil }
            // Raw pointers, because this loop runs for every byte of every file.
            let source = base.assumingMemoryBound(to: UInt8.self)
            var rolling = hash
            defer { hash = rolling }
            var offset = start
            // A block that contains a cut is rolled over again below, byte by byte.
            while Self.hasInstructions, stop - offset >= ferry_gear_block,
                ferry_gear_passes(gear, source + offset, mask, &rolling) != 0
            {
                offset += ferry_gear_block
            }
            let unrolled = stop - (stop - start) % 4
            while offset < unrolled {
                // Four bytes per iteration: the terms that do not depend on the rolling hash are
                // summed first, which shortens the chain of dependent operations to one shift and
                // one addition.
                let first = gear[Int(source[offset])]
                let second = first << 1 &+ gear[Int(source[offset + 1])]
                let third = second << 1 &+ gear[Int(source[offset + 2])]
                let fourth = third << 1 &+ gear[Int(source[offset + 3])]
                if (rolling << 1 &+ first) & mask == 0 { return offset + 1 }
                if (rolling << 2 &+ second) & mask == 0 { return offset + 2 }
                if (rolling << 3 &+ third) & mask == 0 { return offset + 3 }
                rolling = rolling << 4 &+ fourth
                if rolling & mask == 0 { return offset + 4 }
                offset += 4
            }
            while offset < stop {
                rolling = rolling << 1 &+ gear[Int(source[offset])]
                offset += 1
                if rolling & mask == 0 { return offset }
            }
            return nil
        }
    }
}
