import CNGHTTP2
import Cryptography

/// The header fields of an answer (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Responses).
struct ResponseFields {
    private var bytes: [UInt8] = []
    private var sizes: [(name: Int, value: Int)] = []

    /// Ahead of the messages.
    static func headers(_ metadata: GRPCMetadata) -> ResponseFields {
        var fields = ResponseFields()
        fields.add(":status", "200".utf8)
        fields.add("content-type", "application/grpc".utf8)
        fields.add("grpc-accept-encoding", MessageEncoding.accepted.utf8)
        fields.add(metadata)
        return fields
    }

    /// After the messages.
    /// - Parameter alone: with the headers in the same frame, where there are no messages.
    static func trailers(
        _ status: GRPCStatus, _ metadata: GRPCMetadata, alone headers: GRPCMetadata? = nil
    ) -> ResponseFields {
        var fields = headers.map(Self.headers) ?? ResponseFields()
        fields.add("grpc-status", String(status.code.rawValue).utf8)
        if !status.message.isEmpty { fields.add("grpc-message", escaped(status.message)) }
        fields.add(metadata)
        return fields
    }

    /// The answer to what is no gRPC call.
    static func refusal(_ status: Int) -> ResponseFields {
        var fields = ResponseFields()
        fields.add(":status", String(status).utf8)
        return fields
    }

    private mutating func add(_ metadata: GRPCMetadata) {
        for entry in metadata.entries {
            if entry.key.hasSuffix("-bin") {
                add(entry.key, Base64.encode(entry.bytes).utf8.prefix { $0 != UInt8(ascii: "=") })
            } else {
                add(entry.key, entry.bytes)
            }
        }
    }

    private mutating func add(_ name: String, _ value: some Collection<UInt8>) {
        bytes += name.utf8
        bytes += value
        sizes.append((name.utf8.count, value.count))
    }

    /// Percent-encoded but for printable ASCII. Spaces at the ends are encoded, too, as HTTP would lose them.
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

    /// Lends the fields to nghttp2, which copies them.
    func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: sizes.count) { fields in
                var place = 0
                for (index, size) in sizes.enumerated() {
                    let start = bytes.baseAddress.map { $0 + place }
                    let field = nghttp2_nv(
                        name: start, value: start.map { $0 + size.name }, namelen: size.name, valuelen: size.value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
                    fields.initializeElement(at: index, to: field)
                    place += size.name + size.value
                }
                return body(fields.baseAddress, sizes.count)
            }
        }
    }
}
