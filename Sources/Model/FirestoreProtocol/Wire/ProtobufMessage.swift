/// A message of the protocol, which is encoded and decoded by hand-written code.
///
/// Decoding accepts fields in any order, skips unknown fields, lets the last value of a singular
/// field win, and never traps. Encoding is deterministic: fields are in ascending order, and map
/// keys are ordered by their UTF-8 bytes.
package protocol ProtobufMessage: Sendable {
    /// Reads a message up to the end of the reader.
    init(from reader: inout ProtobufReader) throws(ProtocolError)

    /// Appends the fields, without a tag and a length.
    func encode(to writer: inout ProtobufWriter)
}

extension ProtobufMessage {
    /// Decodes a message.
    ///
    /// - Throws: `ProtocolError` unless the bytes are a well-formed message of at most
    ///   `ProtobufReader.maximumSize` bytes.
    package init(decoding bytes: [UInt8]) throws(ProtocolError) {
        self = try bytes.read { reader throws(ProtocolError) in try Self(from: &reader) }
    }

    package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolError) {
        self = try bytes.read { reader throws(ProtocolError) in try Self(from: &reader) }
    }

    /// Returns the encoded message.
    package func encoded() -> [UInt8] {
        var writer = ProtobufWriter()
        encode(to: &writer)
        return writer.finish()
    }
}

extension Collection<UInt8> {
    /// Calls `body` with a reader of these bytes. The reader is only valid during the call.
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
