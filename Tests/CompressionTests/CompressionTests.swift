import CZlib
import Compression
import Testing

@Suite struct CompressionTests {
    private func compressed(_ plain: [UInt8], level: Int = 6) throws -> [UInt8] {
        var deflater = try Deflater(level: level)
        let room = plain.count + plain.count / 1000 + 64
        return try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            count = try #require(
                plain.withUnsafeBytes { deflater.compress($0, into: UnsafeMutableRawBufferPointer(buffer)) })
        }
    }

    private func restored(_ stream: [UInt8], room: Int) throws -> [UInt8] {
        var inflater = try Inflater()
        return try [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let target = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: room)
            count = try stream.withUnsafeBytes { try inflater.decompress($0, into: target) }
        }
    }

    private func code(_ stream: [UInt8], room: Int) -> CompressionError.Code? {
        do {
            _ = try restored(stream, room: room)
            return nil
        } catch {
            return (error as? CompressionError)?.code
        }
    }

    private let text = Array(String(repeating: "2026-11-21 INFO ferryd: synchronised 12 tasks\n", count: 500).utf8)

    @Test(arguments: 1...9)
    func `compressed bytes are restored at every level, also by zlib`(level: Int) throws {
        let stream = try compressed(text, level: level)
        #expect(stream.count < text.count / 20)
        #expect(try restored(stream, room: text.count) == text)
        var (inflated, length) = ([UInt8](repeating: 0, count: text.count), uLong(text.count))
        #expect(uncompress(&inflated, &length, stream, uLong(stream.count)) == Z_OK)
        #expect(length == text.count)
        #expect(inflated == text)
    }

    @Test(arguments: 0...9)
    func `bytes compressed by zlib are decompressed`(level: Int32) throws {
        var length = compressBound(uLong(text.count))
        var stream = [UInt8](repeating: 0, count: Int(length))
        #expect(compress2(&stream, &length, text, uLong(text.count), level) == Z_OK)
        #expect(try restored(Array(stream[..<Int(length)]), room: text.count) == text)
    }

    @Test(arguments: [1, 6])
    func `an empty buffer has a stream, and it inflates into no room at all`(level: Int) throws {
        let stream = try compressed([], level: level)
        #expect(try restored(stream, room: 0).isEmpty)
    }

    @Test(arguments: [1, 6])
    func `any length fits or is refused, and nothing is written past the buffer`(level: Int) throws {
        var generator = SystemRandomNumberGenerator()
        var deflater = try Deflater(level: level)
        for length in Array(0...40) + [1_000, 65_535, 65_536, 300_000] {
            let plain = (0..<length).map { _ in UInt8.random(in: 0...3, using: &generator) }
            let needed = try compressed(plain, level: level).count
            for room in [0, 1, 2, 5, 8, needed / 2, needed - 1, needed, needed + 1, needed + 300] {
                var buffer = [UInt8](repeating: 0xAB, count: room + 16)
                let written = buffer.withUnsafeMutableBytes { buffer in
                    plain.withUnsafeBytes { deflater.compress($0, into: .init(rebasing: buffer[..<room])) }
                }
                #expect(buffer[room...].allSatisfy { $0 == 0xAB })
                if let written {
                    #expect(try restored(Array(buffer[..<written]), room: length) == plain)
                } else {
                    #expect(room <= needed + 8)
                }
            }
        }
    }

    @Test(arguments: [1, 6])
    func `the same bytes become the same stream, whatever was in memory before`(level: Int) throws {
        let stream = try compressed(text, level: level)
        for size in stride(from: 64 << 10, through: 512 << 10, by: 4 << 10) {
            let memory = UnsafeMutablePointer<UInt16>.allocate(capacity: size / 2)
            memory.initialize(repeating: 9, count: size / 2)
            memory.deallocate()
            #expect(try compressed(text, level: level) == stream, "after \(size) bytes")
        }
    }

    @Test func `other programs' streams are read`() throws {
        // Made with Python: zlib.compress(b"ferry")
        let stream: [UInt8] = [0x78, 0x9C, 0x4B, 0x4B, 0x2D, 0x2A, 0xAA, 0x04, 0x00, 0x06, 0x4A, 0x02, 0x29]
        #expect(try restored(stream, room: 5) == Array("ferry".utf8))
    }

    @Test func `a buffer that is too small for the gain wanted gets nothing`() throws {
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var deflater = try Deflater(level: 1)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 9_500, alignment: 1)
        defer { room.deallocate() }
        #expect(noise.withUnsafeBytes { deflater.compress($0, into: room) } == nil)
        // The same deflater continues with the next buffer.
        let length = try #require(text.withUnsafeBytes { deflater.compress($0, into: room) })
        #expect(try restored(Array(room[..<length]), room: text.count) == text)
    }

    @Test func `a stream never writes past the room it is given`() throws {
        let bomb = try compressed([UInt8](repeating: 0, count: 10_000_000))
        #expect(bomb.count < 20_000)
        #expect(code(bomb, room: 9_999_999) == .tooLong)
        #expect(code(bomb, room: 1) == .tooLong)
        #expect(code(bomb, room: 0) == .tooLong)
        #expect(code(bomb, room: 10_000_000) == nil)
    }

    @Test func `a stream that is cut anywhere is none`() throws {
        let stream = try compressed(text)
        for length in 0..<stream.count {
            // The rest of the stream may look longer than the buffer.
            let refusal = code(Array(stream[..<length]), room: text.count + 1)
            #expect(refusal == .corrupt || refusal == .tooLong)
        }
    }

    @Test func `bytes behind the end are refused`() throws {
        #expect(code(try compressed(text) + [0], room: text.count) == .tooLong)
    }

    @Test func `a flipped bit is never taken for data`() throws {
        let stream = try compressed(text)
        for index in stream.indices {
            for bit in 0..<8 {
                var damaged = stream
                damaged[index] ^= 1 << bit
                // Only the unused bits in the padding of the last block have no effect.
                if let result = try? restored(damaged, room: text.count) { #expect(result == text) }
            }
        }
    }

    @Test func `an inflater continues after a damaged stream`() throws {
        var inflater = try Inflater()
        let stream = try compressed(text)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { room.deallocate() }
        #expect(throws: CompressionError.self) {
            try [1, 2, 3].withUnsafeBytes { try inflater.decompress($0, into: room) }
        }
        #expect(try stream.withUnsafeBytes { try inflater.decompress($0, into: room) } == text.count)
    }
}
