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
        guard let level = policy.level, worthwhile > 0, type.compressibility != .doesNotPay else { return nil }
        let compressed: [UInt8]? = object.withUnsafeBytes { buffer in
            let raw = UnsafeRawBufferPointer(rebasing: buffer[ChunkHeader.byteCount...])
            guard type.compressibility == .pays || CompressionProbe.promisesGain(raw) else { return nil }
            return compress(raw, level: level, limit: worthwhile)
        }
        guard let compressed else { return nil }
        // A chunk that does not come back from the store is lost, so what memory or processor got wrong is found here.
        let restored = try inflate(compressed[ChunkHeader.byteCount...], length: length)
        guard restored.elementsEqual(object, after: ChunkHeader.byteCount) else {
            throw ObjectStorageError(
                .corrupt, "a chunk of \(length) bytes did not survive compression; check this machine's memory")
        }
        return compressed
    }

    /// An object whose stored part has at most `limit` bytes; nil if that is not possible.
    private static func compress(_ raw: UnsafeRawBufferPointer, level: Int, limit: Int) -> [UInt8]? {
        guard var deflater = try? Deflater(level: level) else { return nil }
        var stored: Int?
        let object = [UInt8](unsafeUninitializedCapacity: ChunkHeader.byteCount + limit) { output, count in
            let output = UnsafeMutableRawBufferPointer(output)
            output.copyBytes(from: ChunkHeader(codec: .zlib, rawLength: raw.count).bytes)
            let room = UnsafeMutableRawBufferPointer(
                rebasing: output[ChunkHeader.byteCount..<ChunkHeader.byteCount + limit])
            stored = deflater.compress(raw, into: room)
            count = ChunkHeader.byteCount + (stored ?? 0)
        }
        return stored == nil ? nil : object
    }

    /// The chunk in an object. At most `limit` bytes are inflated, whatever the header announces.
    ///
    /// Throws `.corrupt` for damaged objects. That the bytes are the right ones only their hash can say.
    public static func decode(_ object: [UInt8], limit: Int) throws(ObjectStorageError) -> ArraySlice<UInt8> {
        let header = try ChunkHeader(of: object)
        guard header.rawLength <= limit else {
            throw ObjectStorageError(
                .corrupt, "a chunk object announces \(header.rawLength) bytes where at most \(limit) are expected")
        }
        let stored = object[ChunkHeader.byteCount...]
        switch header.codec {
        case .raw:
            guard stored.count == header.rawLength else {
                throw ObjectStorageError(
                    .corrupt, "a chunk object has \(stored.count) bytes and announces \(header.rawLength)")
            }
            return stored
        case .zlib:
            return try inflate(stored, length: header.rawLength)[...]
        }
    }

    private static func inflate(_ stored: ArraySlice<UInt8>, length: Int) throws(ObjectStorageError) -> [UInt8] {
        var failure: (any Error)?
        let chunk = [UInt8](unsafeUninitializedCapacity: length) { output, count in
            do {
                var inflater = try Inflater()
                let target = UnsafeMutableRawBufferPointer(start: output.baseAddress, count: length)
                count = try stored.withUnsafeBytes { stored in
                    try inflater.decompress(stored, into: target)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw ObjectStorageError(.corrupt, "a chunk object is damaged: \(failure)", cause: failure) }
        guard chunk.count == length else {
            throw ObjectStorageError(
                .corrupt, "a chunk object holds \(chunk.count) bytes and announces \(length)")
        }
        return chunk
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
