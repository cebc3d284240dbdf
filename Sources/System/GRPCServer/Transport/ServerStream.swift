import CNGHTTP2
import GRPCProtocol
import SystemIO

/// The state that a connection keeps for a call. Confined to the connection's loop.
final class ServerStream {
    /// The state of nghttp2's data source for the stream.
    enum Source {
        case none
        case asked
        /// nghttp2 asks again only after `nghttp2_session_resume_data`.
        case waiting
    }

    let id: Int32
    var head: RequestHead
    var reader: MessageReader
    /// The call, or nil until the headers are complete or if they are not those of a call.
    var call: ServerCallCore?
    /// The number of received bytes whose window is not returned to the client yet, because
    /// messages wait to be read.
    var withheld = 0
    var isReceivingEnded = false
    /// The batch that is being sent; `sent` counts the bytes of its message that nghttp2 has taken.
    var batch: Outgoing?
    var sent = 0
    var source = Source.none
    var hasHeaders = false
    /// Whether nghttp2 has the trailers.
    var isEnding = false
    /// Whether the last frame was sent.
    var isSendingEnded = false
    /// Whether the call was cancelled, so that nothing more is sent.
    var isDead = false

    init(_ id: Int32, metadataLimit: Int, messageLimit: Int?) {
        self.id = id
        head = RequestHead(limit: metadataLimit)
        reader = MessageReader(limit: messageLimit)
    }

    /// Appends the next bytes of the current message to `output`.
    ///
    /// - Returns: The number of bytes, at most `limit`.
    func copy(to output: inout [UInt8], atMost limit: Int) -> Int {
        guard let message = batch?.message else { return 0 }
        let prefix = MessageReader.prefix(of: message)
        var count = 0
        while count < limit, sent < prefix.count {
            output.append(prefix[sent])
            count += 1
            sent += 1
        }
        let start = sent - prefix.count
        guard start >= 0 else { return count }
        let part = min(limit - count, message.count - start)
        output += message[start..<(start + part)]
        sent += part
        return count + part
    }

    /// Whether all of the current batch's message was sent.
    var isMessageSent: Bool {
        guard let message = batch?.message else { return true }
        return sent == message.count + 5
    }
}
