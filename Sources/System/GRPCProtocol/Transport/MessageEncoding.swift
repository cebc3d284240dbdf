import Compression

/// What a client may do to the messages of a call; answers go out as they are
/// (https://github.com/grpc/grpc/blob/master/doc/compression.md).
package enum MessageEncoding: String, CaseIterable {
    case identity, deflate, gzip

    /// The value of `grpc-accept-encoding`.
    package static let accepted = allCases.map(\.rawValue).joined(separator: ",")

    /// The message that a `MessageReader` of this encoding has found. To be called when it is
    /// wanted: what waits to be read is as small as it was sent, so that a client cannot fill the
    /// memory with little.
    /// - Parameter limit: its largest size, in bytes; nil for none.
    /// - Throws: `resourceExhausted` for a message over the limit, `internal` for one that cannot be read.
    package func decoded(_ message: [UInt8], limit: Int?) throws(GRPCStatus) -> [UInt8] {
        let format: Inflater.Format
        switch self {
        case .identity: return message
        case .deflate: format = .zlib
        case .gzip: format = .gzip
        }
        let content = Array(message.dropFirst())
        guard message.first == 1 else { return content }
        do {
            var inflater = try Inflater()
            return try inflater.decompress(content, as: format, limit: limit)
        } catch {
            throw GRPCStatus(
                error.code == .corrupt ? .internal : .resourceExhausted,
                "A message cannot be decompressed: \(error.message).")
        }
    }
}
