import Compression

/// The compression that a client may use for the messages of a call
/// (https://github.com/grpc/grpc/blob/master/doc/compression.md). Responses are sent uncompressed.
package enum MessageEncoding: String, CaseIterable {
    case identity, deflate, gzip

    /// The value of `grpc-accept-encoding`.
    package static let accepted = allCases.map(\.rawValue).joined(separator: ",")

    /// Returns the decompressed form of a message that a `MessageReader` with this encoding has
    /// found.
    ///
    /// Call it when the message is read. Messages that wait are kept compressed, so that a client
    /// cannot fill the memory with little data.
    ///
    /// - Parameter limit: The maximum size of the decompressed message in bytes; nil for no limit.
    /// - Throws: `resourceExhausted` for a message over the limit, `internal` for a damaged one.
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
