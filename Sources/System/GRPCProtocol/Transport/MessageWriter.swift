/// A message being sent, with its prefix
/// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message).
package struct MessageWriter {
    private let prefix: [UInt8]
    private let message: [UInt8]
    private var sent = 0

    package init(_ message: [UInt8]) {
        prefix = MessageReader.prefix(of: message)
        self.message = message
    }

    package var isAtEnd: Bool { sent == prefix.count + message.count }

    /// Copies the next bytes to the buffer.
    ///
    /// - Returns: The number of bytes.
    package mutating func copy(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var count = 0
        while count < buffer.count, sent < prefix.count {
            buffer[count] = prefix[sent]
            count += 1
            sent += 1
        }
        guard sent >= prefix.count else { return count }
        let part = message[(sent - prefix.count)...].prefix(buffer.count - count)
        _ = UnsafeMutableBufferPointer(rebasing: buffer[count...]).update(fromContentsOf: part)
        sent += part.count
        return count + part.count
    }
}
