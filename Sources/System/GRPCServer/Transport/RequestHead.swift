import GRPCProtocol

/// The header fields of a request (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md,
/// Requests).
struct RequestHead {
    private(set) var path = ""
    private(set) var metadata = GRPCMetadata()
    /// The client's time limit for the call; nil for none.
    private(set) var timeout: Duration?
    /// The compression of the client's messages.
    private(set) var encoding = MessageEncoding.identity
    private(set) var problem: Problem?
    private var isPost = false
    private var isGRPC = false
    /// The sum of the names, the values, and 32 bytes for each field (RFC 9113 section 6.5.2).
    private(set) var size = 0
    private let limit: Int

    enum Problem {
        /// The request is not a gRPC call; the HTTP status to answer.
        case http(Int)
        case call(GRPCStatus)
    }

    /// Creates an empty head.
    ///
    /// - Parameter limit: The maximum `size`.
    init(limit: Int) { self.limit = limit }

    mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        size += name.count + value.count + 32
        guard size <= limit else {
            metadata = GRPCMetadata()
            path = ""
            return problem = .call(
                GRPCStatus(.resourceExhausted, "The headers of the call are larger than the limit of \(limit) bytes."))
        }
        let name = String(decoding: name, as: UTF8.self)
        switch name {
        case ":path": path = String(decoding: value, as: UTF8.self)
        case ":method": isPost = value.elementsEqual("POST".utf8)
        case "content-type": isGRPC = value.starts(with: "application/grpc".utf8)
        case "grpc-timeout":
            timeout = Self.duration(value)
            if timeout == nil { problem = .call(GRPCStatus(.internal, "The header grpc-timeout cannot be read.")) }
        case "grpc-encoding":
            guard let known = MessageEncoding(rawValue: String(decoding: value, as: UTF8.self)) else {
                return problem = .call(
                    GRPCStatus(.unimplemented, "The header grpc-encoding must be one of \(MessageEncoding.accepted)."))
            }
            encoding = known
        case "te", "grpc-accept-encoding": break
        default:
            guard !name.hasPrefix(":") else { break }
            guard metadata.add(field: name, value) else {
                return problem = .call(GRPCStatus(.internal, "The header \(name) is not base64."))
            }
        }
    }

    /// Checks the head after its last field. An earlier problem is kept, because headers that are
    /// too large were not read to their end.
    mutating func end() {
        guard case nil = problem else { return }
        if !isPost { problem = .http(405) } else if !isGRPC { problem = .http(415) }
    }

    /// Returns the duration of up to eight digits and a unit.
    private static func duration(_ text: UnsafeBufferPointer<UInt8>) -> Duration? {
        guard let unit = text.last, (2...9).contains(text.count) else { return nil }
        var number: Int64 = 0
        for digit in text.dropLast() {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = 10 * number + Int64(digit - UInt8(ascii: "0"))
        }
        switch unit {
        case UInt8(ascii: "H"): return .seconds(3600 * number)
        case UInt8(ascii: "M"): return .seconds(60 * number)
        case UInt8(ascii: "S"): return .seconds(number)
        case UInt8(ascii: "m"): return .milliseconds(number)
        case UInt8(ascii: "u"): return .microseconds(number)
        case UInt8(ascii: "n"): return .nanoseconds(number)
        default: return nil
        }
    }
}
