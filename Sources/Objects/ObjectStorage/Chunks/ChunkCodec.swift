import Compression
import Glibc

/// Turns chunks into the objects that are stored and back. See `ChunkHeader` for the format.
public enum ChunkCodec {
    /// The object for a chunk.
    public static func encode(
        _ chunk: [UInt8], type: MIMEType, policy: CompressionPolicy = .automatic
    ) throws(ObjectStorageError) -> [UInt8] {
        let object = ChunkHeader(codec: .raw, rawLength: chunk.count).bytes + chunk
        return try smaller(object, type: type, policy: policy) ?? object
    }

    /// The compressed form of an object that holds its chunk raw. Nil where compression gains less than a sixteenth,
    /// which would not be worth inflating, or is not wanted.
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
        // A chunk that does not come back from the store is lost, so what memory or processor got wrong is found here.
        var restored = BufferPool.shared.take(length)
        try inflate(compressed[ChunkHeader.byteCount...], length: length, to: &restored)
        guard restored.elementsEqual(object, after: ChunkHeader.byteCount) else {
            throw ObjectStorageError(
                .corrupt, "a chunk of \(length) bytes did not survive compression; check this machine's memory")
        }
        BufferPool.shared.give(restored)
        // It stays until it has travelled, so it takes no more room than it needs.
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

    /// Appends at most `limit` bytes to `output`; false, and nothing, if that is not enough.
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

    /// The chunk in an object. At most `limit` bytes are inflated, whatever the header announces.
    ///
    /// Throws `.corrupt` for damaged objects. That the bytes are the right ones only their hash can say.
    public static func decode(_ object: [UInt8], limit: Int) throws(ObjectStorageError) -> ArraySlice<UInt8> {
        var object = object
        let start = try open(&object, limit: limit)
        return object[start...]
    }

    /// Puts the chunk in the place of a compressed object. Answers where in `object` the chunk begins, which goes to the end.
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

    /// Appends the `length` bytes that `stored` holds to `chunk`, which is empty.
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
