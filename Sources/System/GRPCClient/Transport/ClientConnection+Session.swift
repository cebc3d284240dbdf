import CNGHTTP2
import GRPCProtocol
import SystemIO

/// The events that nghttp2 reports for a connection.
extension ClientConnection: HTTP2Endpoint {
    /// The source from which nghttp2 reads the messages of a request.
    var provider: nghttp2_data_provider {
        var provider = nghttp2_data_provider()
        provider.source.ptr = Unmanaged.passUnretained(self).toOpaque()
        provider.read_callback = { _, id, buffer, size, flags, source, _ in
            guard let connection = ClientConnection.from(source), let stream = connection.streams[id],
                let flags
            else {
                return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
            }
            return connection.fill(UnsafeMutableBufferPointer(start: buffer, count: size), &flags.pointee, of: stream)
        }
        return provider
    }

    private static func from(_ source: UnsafePointer<nghttp2_data_source>?) -> ClientConnection? {
        source?.pointee.ptr.map { Unmanaged<ClientConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    func sent(_ frame: nghttp2_frame) {
        guard UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue, let stream = streams[frame.hd.stream_id] else {
            return
        }
        stream.hasBegun = true
        if stream.isBatchSent { endBatch(of: stream) }
    }

    /// Fills nghttp2's buffer with the next bytes of a stream's messages.
    private func fill(
        _ buffer: UnsafeMutableBufferPointer<UInt8>, _ flags: inout UInt32, of stream: ClientStream
    ) -> Int {
        var count = 0
        while count < buffer.count,
            let copied = stream.copy(to: UnsafeMutableBufferPointer(rebasing: buffer[count...])), copied > 0
        {
            count += copied
            if stream.isBatchSent { endBatch(of: stream) }
        }
        if stream.isSendingEnded {
            flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
        } else if count == 0 {
            stream.isStalled = true
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        return count
    }

    // MARK: Receiving

    func begin(_ frame: nghttp2_frame) {}

    func received(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32) {
        streams[stream]?.head.add(name, value)
    }

    func received(_ frame: nghttp2_frame) {
        let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            if let stream = streams[frame.hd.stream_id] { receivedHeaders(stream, isLast: isLast) }
        case NGHTTP2_DATA.rawValue:
            guard isLast, let stream = streams[frame.hd.stream_id] else { return }
            fail(stream, GRPCStatus(.internal, "The server has ended the call without a status."))
        case NGHTTP2_SETTINGS.rawValue: greeted()
        case NGHTTP2_GOAWAY.rawValue: receivedGoAway(frame.goaway)
        default: break
        }
    }

    private func receivedHeaders(_ stream: ClientStream, isLast: Bool) {
        let head = stream.head
        stream.head = ResponseHead(limit: configuration.maximumMetadataSize)
        if let problem = head.problem { return fail(stream, problem) }
        if stream.hasHeaders {
            // nghttp2 accepts no headers between messages, so these are the trailers.
            let status = head.status ?? GRPCStatus(.unknown, "The server has ended the call without a status.")
            return finish(stream, status, head.metadata)
        }
        let httpStatus = head.httpStatus ?? 0
        if (100..<200).contains(httpStatus), !isLast { return }
        if isLast, let status = head.status { return finish(stream, status, head.metadata) }
        guard httpStatus == 200, head.isGRPC, !isLast else {
            return fail(
                stream, head.status ?? GRPCStatus(httpStatus: httpStatus, contentType: head.contentType))
        }
        stream.hasHeaders = true
        stream.reader.encoding = head.encoding
        stream.call.received(head.metadata, encoding: head.encoding)
    }

    /// Ends a call with the server's status.
    private func finish(_ stream: ClientStream, _ status: GRPCStatus, _ trailers: GRPCMetadata) {
        var status = status
        if status.code == .ok, !stream.reader.isBetweenMessages {
            status = GRPCStatus(.internal, "The last message of the answer is not whole.")
        }
        stream.call.end(status, trailers: trailers)
        if let session, nghttp2_session_get_stream_local_close(session, stream.id) == 1 { return remove(stream) }
        // The server reads no more of the request, so cancel the rest of it.
        abandon(stream)
    }

    private func fail(_ stream: ClientStream, _ status: GRPCStatus) {
        stream.call.end(status)
        abandon(stream)
    }

    func received(_ bytes: UnsafeBufferPointer<UInt8>, on id: Int32) {
        guard let session else { return }
        nghttp2_session_consume_connection(session, bytes.count)
        guard let stream = streams[id] else { return }
        guard stream.hasHeaders else {
            return fail(stream, GRPCStatus(.internal, "The server has sent a message ahead of its headers."))
        }
        do throws(GRPCStatus) {
            var hasRoom = true
            var problem: GRPCStatus?
            try stream.reader.append(bytes) { message in
                do throws(GRPCStatus) { hasRoom = try stream.call.received(message) } catch { problem = error }
            }
            if let problem { throw problem }
            if hasRoom {
                nghttp2_session_consume_stream(session, id, bytes.count)
            } else {
                stream.withheld += bytes.count
            }
        } catch {
            fail(stream, error)
        }
    }

    private func receivedGoAway(_ frame: nghttp2_goaway) {
        let data = UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len)
        if frame.error_code == NGHTTP2_ENHANCE_YOUR_CALM.rawValue, data.elementsEqual("too_many_pings".utf8) {
            channel?.pingLess()
        }
        leave()
    }

    func closed(_ id: Int32, _ code: UInt32) {
        guard let stream = streams[id] else { return }
        remove(stream)
        if code == NGHTTP2_CANCEL.rawValue, let deadline = stream.call.deadline, deadline <= .now {
            // The server's clock was slightly ahead.
            stream.call.end(ClientCallCore.late)
        } else {
            stream.call.end(GRPCStatus(resetWith: code))
        }
    }
}
