import Glibc

/// Reads the protobuf wire format (https://protobuf.dev/programming-guides/encoding/) from a
/// buffer, which must outlive the reader.
///
/// Every read checks the bounds, and no bytes can cause a trap. Groups are skipped. Messages may be
/// nested `maximumDepth` levels deep and have `maximumSize` bytes. A decoded message takes at most
/// 25 times the memory of the encoded one.
package struct ProtobufReader {
    package static let maximumDepth = 100
    package static let maximumSize = 64 << 20

    /// The number of the field whose value comes next.
    package private(set) var field = 0
    private var wireType: UInt8 = 0
    private var position: UnsafeRawPointer?
    private var end: UnsafeRawPointer?
    private var depth: Int

    init(_ buffer: UnsafeRawBufferPointer, depth: Int = 0) throws(ProtocolError) {
        guard buffer.count <= Self.maximumSize else {
            throw ProtocolError(.tooLarge, "message of \(buffer.count) bytes is over the limit of \(Self.maximumSize)")
        }
        position = buffer.baseAddress
        end = buffer.baseAddress.map { $0 + buffer.count }
        self.depth = depth
    }

    /// The number of bytes that are not read yet.
    var remaining: Int {
        guard let position, let end else { return 0 }
        return end - position
    }

    /// Moves to the next field; false at the end. The caller must then read or skip its value.
    package mutating func next() throws(ProtocolError) -> Bool {
        guard remaining > 0 else { return false }
        let tag = try rawVarint()
        guard tag <= UInt64(UInt32.max), tag >> 3 > 0 else { throw ProtocolError(.malformed, "invalid field number") }
        field = Int(tag >> 3)
        wireType = UInt8(tag & 7)
        return true
    }

    // MARK: - Scalars

    package mutating func uint64() throws(ProtocolError) -> UInt64 {
        try expect(0)
        return try rawVarint()
    }

    package mutating func int64() throws(ProtocolError) -> Int64 { Int64(bitPattern: try uint64()) }

    /// Reads an int32 or an enum. Higher bits are dropped, as the format requires.
    package mutating func int32() throws(ProtocolError) -> Int32 { Int32(truncatingIfNeeded: try uint64()) }

    package mutating func bool() throws(ProtocolError) -> Bool { try uint64() != 0 }

    package mutating func double() throws(ProtocolError) -> Double {
        try expect(1)
        return Double(bitPattern: UInt64(littleEndian: try take(8).loadUnaligned(as: UInt64.self)))
    }

    /// Reads a repeated int32, packed or not, and appends its values.
    package mutating func int32s(into values: inout [Int32]) throws(ProtocolError) {
        guard wireType == 2 else {
            values.append(try int32())
            return
        }
        var packed = try nested()
        while packed.remaining > 0 { values.append(Int32(truncatingIfNeeded: try packed.rawVarint())) }
    }

    // MARK: - Length-delimited

    package mutating func bytes() throws(ProtocolError) -> [UInt8] { Array(try rawBytes()) }

    /// Reads a string.
    ///
    /// - Throws: `ProtocolError`, also if the bytes are not valid UTF-8.
    package mutating func string() throws(ProtocolError) -> String {
        let bytes = try rawBytes()
        // Decoding replaces invalid bytes, so the result differs from them. This is several times
        // as fast as `String(validating:as:)`.
        let string = String(decoding: bytes, as: UTF8.self)
        let isUnchanged = string.utf8.withContiguousStorageIfAvailable { decoded in
            guard decoded.count == bytes.count else { return false }
            guard let first = decoded.baseAddress, let second = bytes.baseAddress else { return true }
            return memcmp(first, second, bytes.count) == 0
        }
        guard isUnchanged ?? string.utf8.elementsEqual(bytes) else {
            throw ProtocolError(.malformed, "field \(field) is not valid UTF-8")
        }
        return string
    }

    /// Reads a nested message.
    package mutating func message<Message: ProtobufMessage>(_ type: Message.Type = Message.self) throws(ProtocolError)
        -> Message
    {
        try nested(type) { reader throws(ProtocolError) in try Message(from: &reader) }
    }

    /// Runs `body` with a reader of a nested message. Errors get the number of this field and the
    /// name of `type`.
    package mutating func nested<Result>(
        _ type: Any.Type, _ body: (inout ProtobufReader) throws(ProtocolError) -> Result
    ) throws(ProtocolError) -> Result {
        var inner = try nested()
        do throws(ProtocolError) {
            return try body(&inner)
        } catch {
            throw error.inside(type, field: field)
        }
    }

    /// Returns how many times the field `number` follows, for reserving memory; 0 if the bytes are
    /// malformed.
    func count(of number: Int) -> Int {
        var ahead = self
        var count = 0
        do throws(ProtocolError) {
            while try ahead.next() {
                if ahead.field == number { count += 1 }
                try ahead.skip()
            }
            return count
        } catch {
            return 0
        }
    }

    /// Reads the encoded bytes of a nested message, or of a string that need not be checked. They
    /// are valid as long as the buffer.
    package mutating func rawBytes() throws(ProtocolError) -> UnsafeRawBufferPointer {
        try expect(2)
        let count = try rawVarint()
        guard count <= UInt64(remaining) else { throw truncated }
        return try take(Int(count))
    }

    private mutating func nested() throws(ProtocolError) -> ProtobufReader {
        guard depth < Self.maximumDepth else {
            throw ProtocolError(.tooLarge, "message is nested deeper than \(Self.maximumDepth) levels")
        }
        return try ProtobufReader(try rawBytes(), depth: depth + 1)
    }

    // MARK: - Unknown fields

    /// Skips the value of the current field, whatever its type.
    package mutating func skip() throws(ProtocolError) {
        switch wireType {
        case 0: _ = try rawVarint()
        case 1: _ = try take(8)
        case 2: _ = try rawBytes()
        case 3: try skipGroup()
        case 5: _ = try take(4)
        default: throw ProtocolError(.malformed, "field \(field) has the unknown wire type \(wireType)")
        }
    }

    /// Skips a group without recursion, so that deeply nested groups need no stack.
    private mutating func skipGroup() throws(ProtocolError) {
        var open = [field]
        while let innermost = open.last {
            guard try next() else { throw truncated }
            switch wireType {
            case 3:
                guard open.count < Self.maximumDepth else {
                    throw ProtocolError(.tooLarge, "groups are nested deeper than \(Self.maximumDepth) levels")
                }
                open.append(field)
            case 4:
                guard field == innermost else { throw ProtocolError(.malformed, "group \(innermost) ends as \(field)") }
                open.removeLast()
            default: try skip()
            }
        }
    }

    // MARK: - Raw

    private var truncated: ProtocolError { ProtocolError(.malformed, "message is truncated in field \(field)") }

    private func expect(_ type: UInt8) throws(ProtocolError) {
        guard wireType == type else {
            throw ProtocolError(.malformed, "field \(field) has wire type \(wireType) instead of \(type)")
        }
    }

    private mutating func take(_ count: Int) throws(ProtocolError) -> UnsafeRawBufferPointer {
        guard count <= remaining else { throw truncated }
        let start = position
        position = start.map { $0 + count }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    private mutating func rawVarint() throws(ProtocolError) -> UInt64 {
        guard var next = position, let end, next < end else { throw truncated }
        let first = next.load(as: UInt8.self)
        if first < 0x80 {
            position = next + 1
            return UInt64(first)
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while next < end {
            let byte = next.load(as: UInt8.self)
            next += 1
            // The tenth byte can hold only one bit.
            guard shift < 63 || byte <= 1 else {
                throw ProtocolError(.malformed, "field \(field) has an overlong varint")
            }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 {
                position = next
                return value
            }
            shift += 7
        }
        throw truncated
    }
}
