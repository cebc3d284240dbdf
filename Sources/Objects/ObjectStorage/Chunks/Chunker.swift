import CGear

/// Cuts content where the content says so: the same bytes are cut at the same places wherever they stand in a file, so
/// that an insertion changes the chunks around it and no others.
///
/// FastCDC with normalised chunking: W. Xia, Y. Zhou, H. Jiang, D. Feng, Y. Hua, Y. Hu, Q. Liu and Y. Zhang,
/// "FastCDC: a Fast and Efficient Content-Defined Chunking Approach for Data Deduplication", USENIX ATC 2016. A gear
/// hash rolls over the bytes behind the minimum; up to seven eighths of the normal size a cut needs two more zero bits than the
/// normal size asks for, behind that three fewer. So most chunks are a little shorter or longer than the normal size, and few are
/// much longer: what one inserted byte costs is the length of the chunk it falls into, and long chunks are hit more often.
/// The bits tested are the topmost, which all of the last 64 bytes have a part in.
///
/// The places are part of Ferry's format: tests pin them.
public struct Chunker: Sendable {
    public let sizes: ChunkSizes

    private static let hasInstructions = ferry_gear_has_instructions() != 0

    private let strictMask: UInt64
    private let lenientMask: UInt64
    private var hash: UInt64 = 0
    private var position = 0

    public init(sizes: ChunkSizes = .standard) {
        self.sizes = sizes
        let bits = UInt64(sizes.normal.trailingZeroBitCount)
        strictMask = ~0 << (64 - (bits + 2))
        lenientMask = ~0 << (64 - (bits - 3))
    }

    /// Looks for the end of the current chunk in the bytes that follow those of the calls before. Returns how many of
    /// `bytes` belong to the chunk, after which a new one begins; nil if it takes all of them and goes on.
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

    /// Forgets the chunk begun, as at the start of a file.
    public mutating func restart() {
        hash = 0
        position = 0
    }

    /// The lengths of all chunks of `content`.
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

    /// Rolls over `bytes[start..<stop]`; returns the offset behind the first byte whose hash has the mask's bits zero.
    @inline(__always)
    private mutating func scan(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to stop: Int, mask: UInt64
    ) -> Int? {
        guard let base = bytes.baseAddress, start < stop else { return nil }
        return Gear.table.withUnsafeBufferPointer { table -> Int? in
            guard let gear = table.baseAddress else { return nil }
            // Raw pointers, because this loop looks at each byte of each file.
            let source = base.assumingMemoryBound(to: UInt8.self)
            var rolling = hash
            defer { hash = rolling }
            var offset = start
            // A block in which a place is found is rolled over once more, byte by byte.
            while Self.hasInstructions, stop - offset >= ferry_gear_block,
                ferry_gear_passes(gear, source + offset, mask, &rolling) != 0
            {
                offset += ferry_gear_block
            }
            let unrolled = stop - (stop - start) % 4
            while offset < unrolled {
                // Four steps at once: what does not depend on the hash so far is summed beside it, which shortens the
                // chain of dependent operations to one shift and one addition.
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
