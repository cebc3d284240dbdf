import GRPCProtocol
import SystemIO

/// The header fields of a response, or its trailers
/// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Responses).
struct ResponseHead {
    /// The HTTP status; nil in trailers.
    private(set) var httpStatus: Int?
    private(set) var contentType: String?
    /// The compression of the server's messages.
    private(set) var encoding = MessageEncoding.identity
    /// The fields that belong neither to HTTP nor to gRPC.
    private(set) var metadata = GRPCMetadata()
    /// The reason why the fields cannot be used.
    private(set) var problem: GRPCStatus?
    private var code: GRPCStatus.Code?
    private var message = ""
    /// The sum of the names, the values, and 32 bytes for each field (RFC 9113 section 6.5.2).
    private var size = 0
    private let limit: Int

    /// Creates an empty head.
    ///
    /// - Parameter limit: The maximum `size`.
    init(limit: Int) { self.limit = limit }

    /// The status of the call, if the fields have one.
    var status: GRPCStatus? {
        code.map { GRPCStatus($0, message, details: metadata.bytes(GRPCStatus.detailsKey) ?? []) }
    }

    var isGRPC: Bool { contentType?.hasPrefix("application/grpc") ?? false }

    mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        size = size.saturatingAdded(to: name.count).saturatingAdded(to: value.count).saturatingAdded(to: 32)
        guard size <= limit else {
            metadata = GRPCMetadata()
            problem = GRPCStatus(
                .resourceExhausted, "The headers of the answer are larger than the limit of \(limit) bytes.")
            return
        }
        let name = String(decoding: name, as: UTF8.self)
        switch name {
        case ":status": httpStatus = Int(Self.text(value))
        case "content-type": contentType = Self.text(value)
        case "grpc-status": code = GRPCStatus.Code(wire: Int(Self.text(value)) ?? -1)
        case "grpc-message":
            message = String(decoding: PercentDecoding.decoded(value), as: UTF8.self)
        case "grpc-encoding":
            guard let known = MessageEncoding(rawValue: Self.text(value)) else {
                problem = GRPCStatus(.internal, "The server compresses its messages in an unknown way.")
                return
            }
            encoding = known
        case "grpc-accept-encoding": break
        default:
            guard !name.hasPrefix(":") else { break }
            if !metadata.add(field: name, value) {
                problem = GRPCStatus(.internal, "The header \(name.prefix(100)) of the answer is not base64.")
            }
        }
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
