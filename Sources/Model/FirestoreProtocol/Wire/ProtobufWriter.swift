import Glibc

/// Writes the protobuf wire format into one growing buffer.
///
/// A nested message is written in place, with one byte reserved for its length. If the length needs
/// more bytes, the message is moved.
package struct ProtobufWriter: ~Copyable {
    private var storage: UnsafeMutableRawPointer
    private var capacity: Int
    private var count = 0

    package init(capacity: Int = 512) {
        self.capacity = max(capacity, 64)
        storage = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { storage.deallocate() }

    /// Returns the bytes written so far. The writer can be used further.
    package func finish() -> [UInt8] { Array(UnsafeRawBufferPointer(start: storage, count: count)) }

    // MARK: - Fields that are always written

    package mutating func write(_ value: UInt64, field: Int) {
        tag(field, 0)
        varint(value)
    }

    package mutating func write(_ value: Int64, field: Int) { write(UInt64(bitPattern: value), field: field) }

    package mutating func write(_ value: Int32, field: Int) { write(Int64(value), field: field) }

    package mutating func write(_ value: Bool, field: Int) { write(value ? 1 : 0 as UInt64, field: field) }

    package mutating func write(_ value: Double, field: Int) {
        tag(field, 1)
        reserve(8)
        (storage + count).storeBytes(of: value.bitPattern.littleEndian, as: UInt64.self)
        count += 8
    }

    package mutating func write(_ value: String, field: Int) {
        tag(field, 2)
        let length = value.utf8.count
        varint(UInt64(length))
        reserve(length)
        let target = storage + count
        let copied: Void? = value.utf8.withContiguousStorageIfAvailable { source in
            if let address = source.baseAddress { memcpy(target, address, length) }
        }
        if copied == nil {
            UnsafeMutableRawBufferPointer(start: target, count: length).copyBytes(from: value.utf8)
        }
        count += length
    }

    package mutating func write(_ value: [UInt8], field: Int) {
        tag(field, 2)
        varint(UInt64(value.count))
        append(value)
    }

    package mutating func write(_ value: UnsafeRawBufferPointer, field: Int) {
        tag(field, 2)
        varint(UInt64(value.count))
        append(value)
    }

    package mutating func write(_ message: some ProtobufMessage, field: Int) {
        nested(field: field) { message.encode(to: &$0) }
    }

    /// Writes a nested message. `body` writes its fields.
    package mutating func nested<Failure: Error>(
        field: Int, _ body: (inout ProtobufWriter) throws(Failure) -> Void
    ) throws(Failure) {
        tag(field, 2)
        reserve(1)
        count += 1
        let start = count
        try body(&self)
        let length = count - start
        guard length >= 0x80 else {
            storage.storeBytes(of: UInt8(truncatingIfNeeded: length), toByteOffset: start - 1, as: UInt8.self)
            return
        }
        let extra = (Int.bitWidth - length.leadingZeroBitCount + 6) / 7 - 1
        reserve(extra)
        memmove(storage + start + extra, storage + start, length)
        count = start - 1
        varint(UInt64(length))
        count += length
    }

    /// Appends fields that are encoded already.
    package mutating func append(_ encoded: [UInt8]) {
        encoded.withUnsafeBytes { append($0) }
    }

    package mutating func append(_ encoded: UnsafeRawBufferPointer) {
        guard let address = encoded.baseAddress, !encoded.isEmpty else { return }
        reserve(encoded.count)
        memcpy(storage + count, address, encoded.count)
        count += encoded.count
    }

    // MARK: - proto3: a default is not written

    package mutating func writeUnlessDefault(_ value: Int64, field: Int) {
        if value != 0 { write(value, field: field) }
    }

    package mutating func writeUnlessDefault(_ value: Int32, field: Int) {
        if value != 0 { write(value, field: field) }
    }

    package mutating func writeUnlessDefault(_ value: Bool, field: Int) { if value { write(value, field: field) } }

    package mutating func writeUnlessDefault(_ value: Double, field: Int) {
        if value.bitPattern != 0 { write(value, field: field) }
    }

    package mutating func writeUnlessDefault(_ value: String, field: Int) {
        if !value.isEmpty { write(value, field: field) }
    }

    package mutating func writeUnlessDefault(_ value: [UInt8], field: Int) {
        if !value.isEmpty { write(value, field: field) }
    }

    package mutating func writeIfPresent(_ message: (some ProtobufMessage)?, field: Int) {
        if let message { write(message, field: field) }
    }

    package mutating func writeEach(_ messages: [some ProtobufMessage], field: Int) {
        for message in messages { write(message, field: field) }
    }

    package mutating func writeEach(_ strings: [String], field: Int) {
        for string in strings { write(string, field: field) }
    }

    package mutating func writePacked(_ values: [Int32], field: Int) {
        guard !values.isEmpty else { return }
        nested(field: field) { writer in
            for value in values { writer.varint(UInt64(bitPattern: Int64(value))) }
        }
    }

    // MARK: - Raw

    private mutating func tag(_ field: Int, _ type: UInt64) { varint(UInt64(truncatingIfNeeded: field) << 3 | type) }

    private mutating func varint(_ value: UInt64) {
        reserve(10)
        var rest = value
        while rest >= 0x80 {
            storage.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            count += 1
            rest >>= 7
        }
        storage.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private mutating func reserve(_ more: Int) {
        guard count + more > capacity else { return }
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        memcpy(larger, storage, count)
        storage.deallocate()
        storage = larger
    }
}
