/// Cuts the bytes of a call into its messages: a flag, a length of four bytes, and so many bytes
/// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message).
package struct MessageReader {
    /// Largest message taken, in bytes; nil is no limit.
    package let limit: Int?
    /// Which messages may be compressed, and how.
    package var encoding = MessageEncoding.identity
    private var prefix: [UInt8] = []
    private var message: [UInt8] = []
    private var missing: Int?

    private static let prefixSize = 5

    package init(limit: Int?) { self.limit = limit }

    /// Whether the last message ended with the last byte.
    package var isBetweenMessages: Bool { prefix.isEmpty && missing == nil }

    /// Bytes of a message that is not whole yet.
    package var unfinished: Int { message.count }

    /// Takes bytes in, and calls `body` with each message that is whole now; where it may be
    /// compressed with its flag in front, for `MessageEncoding.decoded`.
    /// - Throws: `resourceExhausted` for a message over the limit, `internal` for a wrong flag. Nothing can be read after that.
    package mutating func append(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: ([UInt8]) -> Void
    ) throws(GRPCStatus) {
        var rest = bytes[...]
        while true {
            if let missing {
                let part = rest.prefix(missing)
                message += part
                rest = rest.dropFirst(part.count)
                guard part.count == missing else {
                    self.missing = missing - part.count
                    return
                }
                body(message)
                message = []
                self.missing = nil
            }
            guard !rest.isEmpty else { return }
            let part = rest.prefix(Self.prefixSize - prefix.count)
            prefix += part
            rest = rest.dropFirst(part.count)
            guard prefix.count == Self.prefixSize else { return }
            try begin()
        }
    }

    private mutating func begin() throws(GRPCStatus) {
        guard prefix[0] <= 1 else { throw GRPCStatus(.internal, "A message has the unknown flag \(prefix[0]).") }
        guard prefix[0] == 0 || encoding != .identity else {
            throw GRPCStatus(.internal, "A message is compressed, and the header grpc-encoding does not say how.")
        }
        let size = prefix[1...].reduce(0) { $0 << 8 | Int($1) }
        if let limit, size > limit {
            throw GRPCStatus(.resourceExhausted, "A message of \(size) bytes is larger than the limit of \(limit).")
        }
        let flag = prefix[0]
        prefix = []
        missing = size
        // What is announced need not come.
        message.reserveCapacity(min(size, 64 << 10))
        if encoding != .identity { message.append(flag) }
    }

    /// What goes ahead of a message.
    package static func prefix(of message: [UInt8]) -> [UInt8] {
        let size = UInt32(clamping: message.count)
        return [0] + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) }
    }
}
