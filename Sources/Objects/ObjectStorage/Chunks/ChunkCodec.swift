import Compression
import Glibc

/// Converts chunks to the objects that hold them in a store and back. See `ChunkHeader` for the
/// format.
public enum ChunkCodec {
    /// Creates the object that holds `chunk`: compressed if `policy` and `type` allow it and it
    /// saves at least a sixteenth, else raw.
    ///
    /// Throws `.corrupt` if the compressed chunk does not decompress to the same bytes, which only
    /// faulty hardware can cause.
    public static func encode(
        _ chunk: [UInt8], type: MIMEType, policy: CompressionPolicy = .automatic
    ) throws(ObjectStorageError) -> [UInt8] {
        let object = ChunkHeader(codec: .raw, rawLength: chunk.count).bytes + chunk
        return try smaller(object, type: type, policy: policy) ?? object
    }

    /// Returns the compressed form of an object that holds its chunk raw.
    ///
    /// Returns nil if `policy` or `type` forbids compression, or if it saves less than a sixteenth,
    /// which is not worth the time to decompress.
    static func smaller(
        _ object: [UInt8], type: MIMEType, policy: CompressionPolicy
    ) throws(ObjectStorageError) -> [UInt8]? {
        let length = object.count - ChunkHeader.byteCount
        let worthwhile = length - length / 16 - 1
        guard let level = policy.level, worthwhile > 0, pays(object, type) else { return nil }
        var compressed = BufferPool.shared.take(ChunkHeader.byteCount + worthwhile)
        compressed.append(contentsOf: ChunkHeader(codec: .zlib, rawLength: length).bytes)
        let isSmaller = object.withUnsafeBytes { buffer in
            let raw = UnsafeRawBufferPointer(rebasing: buffer[ChunkHeader.byteCount...])
            return compress(raw, level: level, limit: worthwhile, to: &compressed)
        }
        guard isSmaller else {
            BufferPool.shared.give(compressed)
            return nil
        }
        // A chunk that cannot be read back from the store is lost, so an error of the memory or of
        // the processor has to be found here.
        var restored = BufferPool.shared.take(length)
        try inflate(compressed[ChunkHeader.byteCount...], length: length, to: &restored)
        guard restored.elementsEqual(object, after: ChunkHeader.byteCount) else {
            throw ObjectStorageError(
                .corrupt, "a chunk of \(length) bytes did not survive compression; check this machine's memory")
        }
        BufferPool.shared.give(restored)
        // The object stays in memory until it is uploaded, so it is copied into an array of exactly
        // its size.
        let smaller = compressed.withUnsafeBytes { Array($0) }
        BufferPool.shared.give(compressed)
        return smaller
    }

    private static func pays(_ object: [UInt8], _ type: MIMEType) -> Bool {
        switch type.compressibility {
        case .pays: true
        case .doesNotPay: false
        case .unknown:
            object.withUnsafeBytes {
                CompressionProbe.promisesGain(UnsafeRawBufferPointer(rebasing: $0[ChunkHeader.byteCount...]))
            }
        }
    }

    /// Appends the compressed bytes to `output`. Returns false and appends nothing if they need
    /// more than `limit` bytes.
    private static func compress(
        _ raw: UnsafeRawBufferPointer, level: Int, limit: Int, to output: inout [UInt8]
    ) -> Bool {
        guard var deflater = try? Deflater(level: level) else { return false }
        var stored: Int?
        output.append(addingCapacity: limit) { room in
            room.withUnsafeMutableBufferPointer { room, count in
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<limit])
                stored = deflater.compress(raw, into: room)
                count = stored ?? 0
            }
        }
        return stored != nil
    }

    /// Returns the chunk that an object holds. At most `limit` bytes are decompressed, whatever the
    /// header says.
    ///
    /// Throws `.corrupt` if the object is damaged. Whether the bytes are the expected ones only
    /// their hash can tell; the caller has to compare it.
    public static func decode(_ object: [UInt8], limit: Int) throws(ObjectStorageError) -> ArraySlice<UInt8> {
        var object = object
        let start = try open(&object, limit: limit)
        return object[start...]
    }

    /// Replaces a compressed object with its chunk. Returns the offset in `object` at which the
    /// chunk begins; it ends at the end of the array.
    static func open(_ object: inout [UInt8], limit: Int) throws(ObjectStorageError) -> Int {
        let header = try ChunkHeader(of: object)
        guard header.rawLength <= limit else {
            throw ObjectStorageError(
                .corrupt, "a chunk object announces \(header.rawLength) bytes where at most \(limit) are expected")
        }
        switch header.codec {
        case .raw:
            guard object.count - ChunkHeader.byteCount == header.rawLength else {
                throw ObjectStorageError(
                    .corrupt,
                    "a chunk object has \(object.count - ChunkHeader.byteCount) bytes and announces \(header.rawLength)"
                )
            }
            return ChunkHeader.byteCount
        case .zlib:
            var chunk = BufferPool.shared.take(header.rawLength)
            try inflate(object[ChunkHeader.byteCount...], length: header.rawLength, to: &chunk)
            swap(&object, &chunk)
            BufferPool.shared.give(chunk)
            return 0
        }
    }

    /// Decompresses `stored`, which must give exactly `length` bytes, into `chunk`, which is empty.
    private static func inflate(
        _ stored: ArraySlice<UInt8>, length: Int, to chunk: inout [UInt8]
    ) throws(ObjectStorageError) {
        var failure: (any Error)?
        chunk.append(addingCapacity: length) { room in
            room.withUnsafeMutableBufferPointer { room, count in
                do {
                    var inflater = try Inflater()
                    let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<length])
                    count = try stored.withUnsafeBytes { try inflater.decompress($0, into: room) }
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw ObjectStorageError(.corrupt, "a chunk object is damaged: \(failure)", cause: failure) }
        guard chunk.count == length else {
            throw ObjectStorageError(
                .corrupt, "a chunk object holds \(chunk.count) bytes and announces \(length)")
        }
    }
}

extension [UInt8] {
    fileprivate func elementsEqual(_ other: borrowing [UInt8], after offset: Int) -> Bool {
        withUnsafeBytes { mine in
            other.withUnsafeBytes { other in
                let theirs = other[offset...]
                guard theirs.count == mine.count, let left = mine.baseAddress, let right = other.baseAddress else {
                    return theirs.isEmpty && mine.isEmpty
                }
                return memcmp(left, right + offset, mine.count) == 0
            }
        }
    }
}
