/// A parser that splits the bytes of a call into messages: a flag, a length of four bytes, and the
/// message's bytes (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md,
/// Length-Prefixed-Message).
package struct MessageReader {
    /// The maximum size of a message in bytes; nil for no limit.
    package let limit: Int?
    /// The compression that messages may have.
    package var encoding = MessageEncoding.identity
    private var prefix: [UInt8] = []
    private var message: [UInt8] = []
    private var missing: Int?

    private static let prefixSize = 5

    package init(limit: Int?) { self.limit = limit }

    /// Whether all bytes so far make complete messages.
    package var isBetweenMessages: Bool { prefix.isEmpty && missing == nil }

    /// The number of bytes of a message that is not complete yet.
    package var unfinished: Int { message.count }

    /// Adds bytes, and calls `body` with each message that is now complete.
    ///
    /// If messages may be compressed, the flag precedes each message, for
    /// `MessageEncoding.decoded`.
    ///
    /// - Throws: `resourceExhausted` for a message over the limit, `internal` for an illegal flag.
    ///   Nothing can be read after that.
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
        // The announced bytes may never arrive.
        message.reserveCapacity(min(size, 64 << 10))
        if encoding != .identity { message.append(flag) }
    }

    /// Returns the bytes that precede a message.
    package static func prefix(of message: [UInt8]) -> [UInt8] {
        let size = UInt32(clamping: message.count)
        return [0] + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) }
    }
}
