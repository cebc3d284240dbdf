import CNGHTTP2
import GRPCProtocol
import SystemIO

/// The events that nghttp2 reports for a connection.
extension ServerConnection: HTTP2Endpoint {
    private static func from(_ source: UnsafePointer<nghttp2_data_source>?) -> ServerConnection? {
        source?.pointee.ptr.map { Unmanaged<ServerConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Receiving

    func begin(_ frame: nghttp2_frame) {
        guard frame.headers.cat == NGHTTP2_HCAT_REQUEST else { return }
        let configuration = settings.configuration
        streams[frame.hd.stream_id] = ServerStream(
            frame.hd.stream_id, metadataLimit: configuration.maximumMetadataSize,
            messageLimit: configuration.maximumReceiveSize)
        countStreams()
    }

    func received(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32) {
        guard let stream = streams[stream], stream.call == nil else { return }
        stream.head.add(name, value)
    }

    func received(_ frame: nghttp2_frame) {
        let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            guard let stream = streams[frame.hd.stream_id] else { return }
            if frame.headers.cat == NGHTTP2_HCAT_REQUEST { beginCall(stream) }
            if isLast { endReceiving(stream) }
        case NGHTTP2_DATA.rawValue:
            if isLast, let stream = streams[frame.hd.stream_id] { endReceiving(stream) }
        case NGHTTP2_SETTINGS.rawValue: isGreeted = true
        case NGHTTP2_PING.rawValue:
            guard frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return answered() }
            guard !pings.isTolerated(at: .now), let session else { return }
            nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        default: break
        }
    }

    private func beginCall(_ stream: ServerStream) {
        stream.head.end()
        switch stream.head.problem {
        case .http(let status): return submit(.refusal(status), isLast: true, on: stream)
        case .call(let status): return refuse(stream, status)
        case nil: break
        }
        let head = stream.head
        stream.head = RequestHead(limit: 0)
        stream.reader.encoding = head.encoding
        let client = peer.client(of: head.metadata, settings.configuration.trustedProxies)
        let method = server.resolve(head.path)
        let caller: (any GRPCCaller)?
        let usage: CallerUsage
        do throws(GRPCStatus) {
            // A method that does not exist is refused by the call.
            caller = method == nil ? nil : try settings.configuration.authorize?(head.metadata)
            let account = caller?.transportAccount
            if account != nil { signIn() }
            usage = self.usage(of: account, client)
            try count(usage)
        } catch {
            return refuse(stream, error, of: method)
        }
        let deadline = head.timeout.map { ContinuousClock.now + $0 }
        let call = ServerCallCore(
            self, stream: stream.id, path: head.path, metadata: head.metadata, caller: caller, peer: client,
            usage: usage, deadline: deadline, encoding: head.encoding)
        guard call.hold(head.size + Self.callSize) else { return refuse(stream, ServerCallCore.tooMuchHeld) }
        stream.call = call
        if let deadline { loop.check(at: deadline) }
        call.run(method)
    }

    /// The approximate memory of a call in bytes without its headers and its messages.
    private static let callSize = 4 << 10

    private func usage(of account: String?, _ client: GRPCPeer) -> CallerUsage {
        let caller: CallerUsage.Caller =
            account.map { .account($0) } ?? client.client.map { .site($0.address.site) } ?? .unknown
        if let usage, usage.caller == caller { return usage }
        let found = settings.usages.usage(of: caller)
        usage = found
        return found
    }

    /// Counts the connection for the account of its first call, unless the connection is a trusted
    /// proxy's.
    private func count(_ usage: CallerUsage) throws(GRPCStatus) {
        guard account == nil, usage.hasAccount else { return }
        if let client = peer.client, settings.configuration.trustedProxies.contains(client.address) { return }
        let limit = settings.configuration.limits.connectionsPerAccount
        guard usage.connections.add(1, within: limit) else {
            throw GRPCStatus(
                .resourceExhausted, "The account has \(limit) connections open, which is the limit. Close some of them."
            )
        }
        account = usage
    }

    func received(_ bytes: UnsafeBufferPointer<UInt8>, on id: Int32) {
        guard let session else { return }
        guard let stream = streams[id], let call = stream.call, !stream.isDead else {
            nghttp2_session_consume(session, id, bytes.count)
            return
        }
        guard call.hold(bytes.count) else {
            nghttp2_session_consume(session, id, bytes.count)
            refuse(stream, ServerCallCore.tooMuchHeld)
            return forgetUnfinished(of: stream)
        }
        let before = stream.reader.unfinished
        do {
            var hasRoom = true
            try stream.reader.append(bytes) { hasRoom = call.received($0) }
            if hasRoom {
                nghttp2_session_consume(session, id, bytes.count)
            } else {
                stream.withheld += bytes.count
            }
        } catch {
            nghttp2_session_consume(session, id, bytes.count)
            refuse(stream, error)
        }
        unfinished += stream.reader.unfinished - before
        guard let limit = stream.reader.limit, unfinished > limit * Self.unfinishedMessages else { return }
        refuse(
            stream, GRPCStatus(.resourceExhausted, "Too many large messages are in flight on this connection."))
        forgetUnfinished(of: stream)
    }

    /// The number of messages of the maximum size that a connection may have in progress at once.
    private static let unfinishedMessages = 4

    private func forgetUnfinished(of stream: ServerStream) {
        unfinished -= stream.reader.unfinished
        stream.reader = MessageReader(limit: stream.reader.limit)
    }

    private func endReceiving(_ stream: ServerStream) {
        stream.isReceivingEnded = true
        guard let call = stream.call, !stream.isDead else { return }
        if stream.reader.isBetweenMessages {
            _ = call.received(nil)
        } else {
            refuse(stream, GRPCStatus(.internal, "The last message is not whole."))
        }
    }

    /// Lets the client send more, after the call's reader has made room.
    func resumeReceiving(_ id: Int32) {
        guard let session, let stream = streams[id], stream.withheld > 0 else { return }
        nghttp2_session_consume(session, id, stream.withheld)
        stream.withheld = 0
        sendSoon()
    }

    // MARK: Sending

    /// Takes a batch of a call. When it has been sent, the call is asked for the next one.
    func start(_ batch: Outgoing, on id: Int32, of call: ServerCallCore) {
        guard session != nil, let stream = streams[id], !stream.isDead else { return call.sent(succeeded: false) }
        sendSoon()
        if let headers = batch.headers {
            stream.hasHeaders = true
            if case .status(let status, let trailers) = batch.end, batch.message == nil {
                submit(.trailers(status, trailers, alone: headers), isLast: true, on: stream)
                return call.sent(succeeded: true)
            }
            submit(.headers(headers), isLast: false, on: stream)
        }
        stream.batch = batch
        stream.sent = 0
        guard batch.message != nil else { return finishBatch(of: stream) }
        switch stream.source {
        case .asked: break
        case .waiting:
            stream.source = .asked
            nghttp2_session_resume_data(session, id)
        case .none:
            stream.source = .asked
            var provider = nghttp2_data_provider()
            provider.source.ptr = Unmanaged.passUnretained(self).toOpaque()
            provider.read_callback = { _, id, _, size, flags, source, _ in
                guard let connection = ServerConnection.from(source), let stream = connection.streams[id],
                    let flags
                else {
                    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
                }
                return connection.addFrame(of: stream, atMost: size, &flags.pointee)
            }
            nghttp2_submit_data(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, &provider)
        }
    }

    /// Adds a frame with the next bytes of a stream's messages to the output. Its header follows, in `complete`.
    ///
    /// nghttp2's own buffer for them would have 16 KiB for each connection.
    private func addFrame(of stream: ServerStream, atMost limit: Int, _ flags: inout UInt32) -> Int {
        let start = output.count
        output += repeatElement(0, count: HTTP2Session.frameHeaderSize)
        var count = 0
        while count < limit, stream.batch?.message != nil {
            count += stream.copy(to: &output, atMost: limit - count)
            if stream.isMessageSent { finishBatch(of: stream) }
        }
        guard count > 0 else {
            output.removeLast(HTTP2Session.frameHeaderSize)
            stream.source = .waiting
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        openFrame = start
        flags |= UInt32(NGHTTP2_DATA_FLAG_NO_COPY.rawValue)
        if stream.isEnding {
            flags |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue)
        }
        return count
    }

    func complete(_ header: UnsafeBufferPointer<UInt8>) -> Bool {
        output.replaceSubrange(openFrame..<(openFrame + header.count), with: header)
        return hasRoom
    }

    /// Sends the end of a batch after its message, or asks for the next batch.
    private func finishBatch(of stream: ServerStream) {
        let batch = stream.batch
        stream.batch = nil
        if case .status(let status, let trailers) = batch?.end {
            stream.isEnding = true
            submit(.trailers(status, trailers), isLast: true, on: stream)
        }
        stream.call?.sent(succeeded: true, bytes: batch?.message?.count ?? 0)
    }

    private func submit(_ fields: HeaderFields, isLast: Bool, on stream: ServerStream) {
        guard let session else { return }
        let flags = UInt8(isLast ? NGHTTP2_FLAG_END_STREAM.rawValue : NGHTTP2_FLAG_NONE.rawValue)
        let code = fields.withFields { fields, count in
            nghttp2_submit_headers(session, flags, stream.id, nil, fields, count, nil)
        }
        if code != 0 { reset(stream) }
    }

    /// Ends a call with a status from the transport.
    private func refuse(_ stream: ServerStream, _ status: GRPCStatus) {
        guard !stream.isDead else { return }
        guard !stream.hasHeaders else { return reset(stream) }
        submit(.trailers(status, [:], alone: [:]), isLast: true, on: stream)
        kill(stream)
    }

    /// Ends a call that has not started.
    ///
    /// A streaming call gets headers first, because clients take a status without headers for a
    /// refusal by the transport and retry the call.
    private func refuse(_ stream: ServerStream, _ status: GRPCStatus, of method: GRPCMethod?) {
        guard case .streaming? = method else { return refuse(stream, status) }
        submit(.headers([:]), isLast: false, on: stream)
        submit(.trailers(status, [:]), isLast: true, on: stream)
        kill(stream)
    }

    func sent(_ frame: nghttp2_frame) {
        switch UInt32(frame.hd.type) {
        case NGHTTP2_DATA.rawValue: pings.forgive()
        case NGHTTP2_HEADERS.rawValue:
            pings.forgive()
            guard frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let stream = streams[frame.hd.stream_id]
            else { return }
            stream.isSendingEnded = true
            // The server reads no more of the request, so stop the client from sending the rest
            // (RFC 9113 section 8.1).
            guard !stream.isReceivingEnded, let session else { return }
            nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_NO_ERROR.rawValue)
        default: break
        }
    }

    func closed(_ id: Int32, _ code: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        countStreams()
        forgetUnfinished(of: stream)
        stream.call?.streamClosed()
        stream.call?.ended(stream.isSendingEnded && !stream.isDead ? .finished : .cancelled)
    }
}
