import Compression
import ObjectStorage
import Testing

@Suite struct ChunkCodecTests {
    private let text = Array(String(repeating: "2026-11-21T10:00:00 INFO nothing happened\n", count: 2000).utf8)

    private func code(_ object: [UInt8], limit: Int = 1 << 20) -> ObjectStorageError.Code? {
        do {
            _ = try ChunkCodec.decode(object, limit: limit)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [CompressionPolicy.automatic, .level(1), .level(9), .level(99), .off])
    func `every chunk comes back`(policy: CompressionPolicy) throws {
        for chunk in [[], [0], Noise.bytes(1), Noise.bytes(100_000), text, [UInt8](repeating: 0, count: 1 << 20)] {
            for type in [MIMEType.plain, .octetStream, .jpeg] {
                let object = try ChunkCodec.encode(chunk, type: type, policy: policy)
                #expect(object.count <= chunk.count + ChunkHeader.byteCount)
                #expect(Array(try ChunkCodec.decode(object, limit: chunk.count)) == chunk)
            }
        }
    }

    @Test func `where a chunk is stored raw its id is the hash of the object`() throws {
        for chunk in [[], [7], Noise.bytes(100_000), text] {
            let object = try ChunkCodec.encode(chunk, type: .octetStream, policy: .off)
            #expect(ContentHash(ofChunk: chunk[...]) == ContentHash(of: object))
        }
        #expect(
            ContentHash(ofChunk: Array("ferry".utf8)[...]).hex
                == "ff9f35494b959cfe6ed642d4dbc35b39704cda0456e395555f04b767b4cd1f95")
    }

    @Test func `zlib is used where it pays, by type or by probe, and only there`() throws {
        func codec(_ chunk: [UInt8], _ type: MIMEType, _ policy: CompressionPolicy = .automatic) throws
            -> ChunkHeader.Codec
        {
            try ChunkHeader(of: ChunkCodec.encode(chunk, type: type, policy: policy)).codec
        }
        #expect(try codec(text, .plain) == .zlib)
        #expect(try codec(text, .octetStream) == .zlib)
        #expect(try codec(text, .jpeg) == .raw)
        #expect(try codec(text, .plain, .off) == .raw)
        #expect(try codec(Noise.bytes(100_000), .octetStream) == .raw)
        #expect(try codec(Noise.bytes(100_000), .plain) == .raw)
        // Random bytes are recognized by their entropy alone; base64 of random bytes can be
        // compressed by a quarter.
        let base64 = Noise.bytes(100_000).map {
            Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)[Int($0 & 63)]
        }
        #expect(try codec(base64, .octetStream) == .zlib)
    }

    @Test func `the header is pinned`() throws {
        let object = try ChunkCodec.encode([1, 2, 3], type: .jpeg)
        #expect(object == Array("FRYC".utf8) + [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3])
    }

    @Test func `a chunk bomb inflates no further than it announced, nor than the reader allows`() throws {
        let zeros = [UInt8](repeating: 0, count: 10 << 20)
        let honest = try ChunkCodec.encode(zeros, type: .plain)
        #expect(honest.count < 100_000)
        #expect(code(honest, limit: 1 << 20) == .corrupt)
        let liar = ChunkHeader(codec: .zlib, rawLength: 1000).bytes + honest.dropFirst(ChunkHeader.byteCount)
        #expect(code(liar) == .corrupt)
        let boaster =
            ChunkHeader(codec: .zlib, rawLength: (10 << 20) + 1).bytes + honest.dropFirst(ChunkHeader.byteCount)
        #expect(code(boaster, limit: 20 << 20) == .corrupt)
        #expect(code(ChunkHeader(codec: .zlib, rawLength: .max).bytes + [1]) == .corrupt)
    }

    @Test func `an object that is cut or grown is corrupt`() throws {
        for object in [try ChunkCodec.encode(text, type: .plain), try ChunkCodec.encode(Noise.bytes(500), type: .jpeg)]
        {
            for length in stride(from: 0, to: object.count, by: 7) {
                #expect(code(Array(object[..<length])) == .corrupt)
            }
            #expect(code(object + [0]) == .corrupt)
        }
    }

    @Test func `formats of the future are refused by name`() throws {
        var object = try ChunkCodec.encode([1, 2, 3], type: .plain)
        object[4] = 2
        #expect(code(object) == .invalid)
        object[4] = 1
        object[5] = 7
        #expect(code(object) == .invalid)
        object[5] = 0
        object[7] = 1
        #expect(code(object) == .corrupt)
        object[8] = 0xFF
        object[7] = 0
        #expect(code(object) == .corrupt)
    }
}
