import Testing

@testable import FirestoreProtocol

/// A message that accepts any field of the wire format, to test the reader alone.
private struct Anything: ProtobufMessage {
    var numbers: [UInt64] = []
    var int32s: [Int32] = []
    var strings: [String] = []
    var inner: [Anything] = []

    init() {}

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        while try reader.next() {
            switch reader.field {
            case 1: numbers.append(try reader.uint64())
            case 2: strings.append(try reader.string())
            case 3: inner.append(try reader.message())
            case 4: try reader.int32s(into: &int32s)
            default: try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        for number in numbers { writer.write(number, field: 1) }
        for string in strings { writer.write(string, field: 2) }
        for message in inner { writer.write(message, field: 3) }
        writer.writePacked(int32s, field: 4)
    }
}

@Suite struct WireTests {
    @Test(arguments: [0, 1, 127, 128, 300, 16383, 16384, 1 << 35, UInt64(Int64.max), .max])
    func `a varint comes back as written`(number: UInt64) throws {
        var message = Anything()
        message.numbers = [number]
        #expect(try Anything(decoding: message.encoded()).numbers == [number])
    }

    @Test(arguments: [0, 1, 100, 126, 127, 128, 129, 16380, 16383, 16384, 16385, 3_000_000])
    func `a nested message of any length keeps its bytes and its neighbours`(length: Int) throws {
        var inner = Anything()
        inner.strings = [String(repeating: "x", count: length)]
        var message = Anything()
        message.strings = ["before"]
        message.inner = [inner, Anything(), inner]
        message.int32s = [1, -1]
        let decoded = try Anything(decoding: message.encoded())
        #expect(decoded.strings == ["before"])
        #expect(decoded.inner.map(\.strings) == [inner.strings, [], inner.strings])
        #expect(decoded.int32s == [1, -1])
    }

    @Test func `a negative int32 has ten bytes, and packed and single values mix`() throws {
        #expect(try Anything(decoding: [0x22, 0x0a] + [UInt8](repeating: 0xff, count: 9) + [1]).int32s == [-1])
        #expect(try Anything(decoding: [0x20, 5, 0x22, 2, 6, 7, 0x20, 8]).int32s == [5, 6, 7, 8])
    }

    @Test func `unknown fields of every wire type are skipped`() throws {
        let unknown: [UInt8] = [
            0x78, 0x96, 0x01,  // 15: varint
            0x79, 1, 2, 3, 4, 5, 6, 7, 8,  // 15: fixed64
            0x7a, 2, 0xff, 0xff,  // 15: bytes
            0x7b, 0x08, 1, 0x7b, 0x7c, 0x7c,  // 15: a group with a field and a group in it
            0x7d, 1, 2, 3, 4,  // 15: fixed32
        ]
        #expect(try Anything(decoding: unknown + [0x08, 7]).numbers == [7])
    }

    @Test(
        arguments: [
            [0x08], [0x08, 0x80], [0x12, 5, 0x61], [0x79, 1, 2], [0x7d, 1], [0x7b], [0x7b, 0x08, 1], [0x7b, 0x74],
            [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], [0x00, 1], [0x0f, 1], [0x0c],
            [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], [0x12, 1, 0xff], [0x12, 2, 0xc3, 0x28],
            [0x09, 1, 2, 3, 4, 5, 6, 7, 8], [0xf8, 0xff, 0xff, 0xff, 0xff, 0x01, 1],
        ] as [[UInt8]])
    func `broken bytes are an error`(bytes: [UInt8]) {
        #expect { try Anything(decoding: bytes) } throws: { ($0 as? ProtocolError)?.code == .malformed }
    }

    @Test func `nesting has a limit, and the error has the path to the fault`() throws {
        var bytes: [UInt8] = []
        for _ in 0..<99 {
            var writer = ProtobufWriter()
            writer.write(bytes, field: 3)
            bytes = writer.finish()
        }
        _ = try Anything(decoding: bytes)
        for _ in 0..<2 {
            var writer = ProtobufWriter()
            writer.write(bytes, field: 3)
            bytes = writer.finish()
        }
        #expect { try Anything(decoding: bytes) } throws: { ($0 as? ProtocolError)?.code == .tooLarge }
        let fault = #expect(throws: ProtocolError.self) { try Anything(decoding: [0x1a, 4, 0x1a, 2, 0x12, 9]) }
        #expect(fault?.description.contains("field 3 (Anything) > field 3 (Anything)") == true)
    }

    @Test func `groups nested beyond the limit are refused without using the stack`() {
        let bytes = [UInt8](repeating: 0x7b, count: 1_000_000)
        #expect { try Anything(decoding: bytes) } throws: { ($0 as? ProtocolError)?.code == .tooLarge }
    }
}
