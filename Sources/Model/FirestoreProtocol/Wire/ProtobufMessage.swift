/// A message of the protocol, written and read by hand.
///
/// Decoding takes fields in any order, skips unknown ones, lets the last of a singular field win, and never traps. Encoding is
/// deterministic: fields in ascending order, map keys sorted by their UTF-8 bytes.
package protocol ProtobufMessage: Sendable {
    /// Reads to the reader's end.
    init(from reader: inout ProtobufReader) throws(ProtocolError)

    /// Appends the fields, without tag and length.
    func encode(to writer: inout ProtobufWriter)
}

extension ProtobufMessage {
    /// - Throws: `ProtocolError` for anything but a well-formed message of at most `ProtobufReader.maximumSize` bytes.
    package init(decoding bytes: [UInt8]) throws(ProtocolError) {
        self = try bytes.read { reader throws(ProtocolError) in try Self(from: &reader) }
    }

    package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolError) {
        self = try bytes.read { reader throws(ProtocolError) in try Self(from: &reader) }
    }

    package func encoded() -> [UInt8] {
        var writer = ProtobufWriter()
        encode(to: &writer)
        return writer.finish()
    }
}

extension Collection<UInt8> {
    /// Runs `body` with a reader over these bytes, which lives only as long as the call.
    func read<Result>(_ body: (inout ProtobufReader) throws(ProtocolError) -> Result) throws(ProtocolError) -> Result {
        let outcome: Swift.Result<Result, ProtocolError>? = withContiguousStorageIfAvailable { buffer in
            do throws(ProtocolError) {
                var reader = try ProtobufReader(UnsafeRawBufferPointer(buffer))
                return .success(try body(&reader))
            } catch {
                return .failure(error)
            }
        }
        guard let outcome else { return try Array(self).read(body) }
        return try outcome.get()
    }
}
