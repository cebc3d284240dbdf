import Compression

/// What a client may do to the messages of a call; answers go out as they are
/// (https://github.com/grpc/grpc/blob/master/doc/compression.md).
enum MessageEncoding: String, CaseIterable {
    case identity, deflate, gzip

    /// The value of `grpc-accept-encoding`.
    static let accepted = allCases.map(\.rawValue).joined(separator: ",")

    /// The message that was sent in this form.
    /// - Parameter limit: its largest size, in bytes; nil for none.
    /// - Throws: `resourceExhausted` for a message over the limit, `internal` for one that cannot be read.
    func decoded(_ message: [UInt8], limit: Int?) throws(GRPCStatus) -> [UInt8] {
        let format: Inflater.Format
        switch self {
        case .identity:
            throw GRPCStatus(.internal, "A message is compressed, and the header grpc-encoding does not say how.")
        case .deflate: format = .zlib
        case .gzip: format = .gzip
        }
        do {
            var inflater = try Inflater()
            return try inflater.decompress(message, as: format, limit: limit)
        } catch {
            throw GRPCStatus(
                error.code == .corrupt ? .internal : .resourceExhausted,
                "A message cannot be decompressed: \(error.message).")
        }
    }
}
