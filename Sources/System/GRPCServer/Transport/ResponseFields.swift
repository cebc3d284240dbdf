import GRPCProtocol

/// The header fields of a response (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md,
/// Responses).
extension HeaderFields {
    /// Returns the headers, which precede the messages.
    static func headers(_ metadata: GRPCMetadata) -> HeaderFields {
        var fields = HeaderFields()
        fields.add(":status", "200")
        fields.add("content-type", "application/grpc")
        fields.add("grpc-accept-encoding", MessageEncoding.accepted)
        fields.add(metadata)
        return fields
    }

    /// Returns the trailers, which follow the messages.
    ///
    /// - Parameter headers: The headers to send in the same frame, if there are no messages.
    static func trailers(
        _ status: GRPCStatus, _ metadata: GRPCMetadata, alone headers: GRPCMetadata? = nil
    ) -> HeaderFields {
        var fields = headers.map(Self.headers) ?? HeaderFields()
        fields.add("grpc-status", String(status.code.rawValue))
        if !status.message.isEmpty { fields.add("grpc-message", escaped(status.message)) }
        fields.add(metadata)
        return fields
    }

    /// Returns the response to a request that is not a gRPC call.
    static func refusal(_ status: Int) -> HeaderFields {
        var fields = HeaderFields()
        fields.add(":status", String(status))
        return fields
    }

    /// Returns a message with all bytes escaped except printable ASCII. Spaces at the ends are
    /// escaped too, because HTTP would drop them.
    private static func escaped(_ message: String) -> [UInt8] {
        let text = Array(message.utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        for (index, byte) in text.enumerated() {
            let isEnd = index == 0 || index == text.count - 1
            if byte > (isEnd ? 0x20 : 0x1f), byte < 0x7f, byte != UInt8(ascii: "%") {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return escaped
    }
}
