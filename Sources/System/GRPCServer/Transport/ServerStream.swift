import CNGHTTP2
import GRPCProtocol
import SystemIO

/// One call as its connection sees it. Confined to the connection's loop.
final class ServerStream {
    /// Whether nghttp2 has been given something that asks this stream for its bytes.
    enum Source {
        case none
        case asked
        /// It is asked again after `nghttp2_session_resume_data`.
        case waiting
    }

    let id: Int32
    var head: RequestHead
    var reader: MessageReader
    /// nil until the headers are whole, and where they made no call.
    var call: ServerCallCore?
    /// Bytes that the client may not replace by others yet, because messages wait to be read.
    var withheld = 0
    var isReceivingEnded = false
    /// What goes out at present, and how much of it has gone.
    var batch: Outgoing?
    var sent = 0
    var source = Source.none
    var hasHeaders = false
    /// Its trailers have been given to nghttp2.
    var isEnding = false
    /// Its last frame has gone out.
    var isSendingEnded = false
    /// Nothing more of the call is sent: it was cancelled.
    var isDead = false

    init(_ id: Int32, metadataLimit: Int, messageLimit: Int?) {
        self.id = id
        head = RequestHead(limit: metadataLimit)
        reader = MessageReader(limit: messageLimit)
    }

    /// Copies the next bytes of the present message.
    /// - Returns: how many.
    func copy(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard let message = batch?.message else { return 0 }
        let prefix = MessageReader.prefix(of: message)
        var count = 0
        while count < buffer.count, sent < prefix.count {
            buffer[count] = prefix[sent]
            count += 1
            sent += 1
        }
        let start = sent - prefix.count
        guard start >= 0 else { return count }
        let part = min(buffer.count - count, message.count - start)
        message.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<(start + part)]))
        }
        sent += part
        return count + part
    }

    /// Whether the present batch's message has gone.
    var isMessageSent: Bool {
        guard let message = batch?.message else { return true }
        return sent == message.count + 5
    }
}
