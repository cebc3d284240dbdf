import GRPCProtocol

/// One call as its connection sees it. Confined to the connection's loop.
final class ClientStream {
    let id: Int32
    let call: ClientCallCore
    /// The header fields that have come since the last whole frame of them.
    var head: ResponseHead
    var reader: MessageReader
    /// The headers ahead of the messages have come.
    var hasHeaders = false
    /// Bytes that the server may not replace by others yet, because messages wait to be read.
    var withheld = 0
    /// What goes out at present. Kept until its last byte has gone to nghttp2.
    private(set) var batch: Outgoing?
    private var writer: MessageWriter?
    /// nghttp2 has found nothing to send, and asks again after `nghttp2_session_resume_data`.
    var isStalled = false
    /// No more messages follow.
    var isSendingEnded = false
    /// The request's headers have gone out: the server may have seen the call.
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

    /// Copies the next bytes of the present message.
    /// - Returns: how many; nil if no message is to be sent at present.
    func copy(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int? { writer?.copy(to: buffer) }

    /// Whether all of the present batch has gone.
    var isBatchSent: Bool { batch != nil && hasBegun && writer?.isAtEnd ?? true }

    /// To be called once it has.
    func endBatch() {
        if case .halfClose = batch?.end { isSendingEnded = true }
        batch = nil
        writer = nil
    }
}
