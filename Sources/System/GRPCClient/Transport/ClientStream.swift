import GRPCProtocol

/// The state that a connection keeps for a call. Confined to the connection's loop.
final class ClientStream {
    let id: Int32
    let call: ClientCallCore
    /// The header fields received since the last complete header block.
    var head: ResponseHead
    var reader: MessageReader
    /// Whether the headers that precede the messages have arrived.
    var hasHeaders = false
    /// The number of received bytes whose window is not returned to the server yet, because
    /// messages wait to be read.
    var withheld = 0
    /// The batch that is being sent. It is kept until nghttp2 has its last byte.
    private(set) var batch: Outgoing?
    private var writer: MessageWriter?
    /// Whether nghttp2 has found nothing to send, and asks again only after
    /// `nghttp2_session_resume_data`.
    var isStalled = false
    /// Whether no more messages follow.
    var isSendingEnded = false
    /// Whether the request's headers were sent, so that the server may have seen the call.
    var hasBegun = false

    init(_ id: Int32, _ call: ClientCallCore, configuration: GRPCChannelConfiguration) {
        self.id = id
        self.call = call
        head = ResponseHead(limit: configuration.maximumMetadataSize)
        reader = MessageReader(limit: configuration.maximumReceiveSize)
    }

    func begin(_ batch: Outgoing) {
        self.batch = batch
        writer = batch.message.map(MessageWriter.init)
    }

    /// Copies the next bytes of the current message.
    ///
    /// - Returns: The number of bytes, or nil if there is no message to send.
    func copy(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int? { writer?.copy(to: buffer) }

    /// Whether all of the current batch was sent.
    var isBatchSent: Bool { batch != nil && hasBegun && writer?.isAtEnd ?? true }

    /// Ends the current batch. Call once `isBatchSent` is true.
    func endBatch() {
        if case .halfClose = batch?.end { isSendingEnded = true }
        batch = nil
        writer = nil
    }
}
