package import CNGHTTP2

/// One end of an HTTP/2 connection, as nghttp2 notifies it (https://nghttp2.org/documentation/).
///
/// nghttp2 calls all of these while it reads or writes, on the connection's thread.
package protocol HTTP2Endpoint: AnyObject {
    /// The headers of a frame begin.
    func begin(_ frame: nghttp2_frame)
    /// A header field has arrived.
    func received(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32)
    /// A whole frame has arrived.
    func received(_ frame: nghttp2_frame)
    /// Bytes of a message have arrived.
    func received(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32)
    /// A DATA frame is written whose content the endpoint has written itself, after a place for this header
    /// (`NGHTTP2_DATA_FLAG_NO_COPY`).
    ///
    /// - Returns: Whether nghttp2 may go on with the next frame at once.
    func complete(_ header: UnsafeBufferPointer<UInt8>) -> Bool
    /// A frame was written.
    func sent(_ frame: nghttp2_frame)
    /// A stream has ended, with an error code of HTTP/2.
    func closed(_ stream: Int32, _ code: UInt32)
}

extension HTTP2Endpoint {
    /// Endpoints that let nghttp2 write everything have no such frames.
    package func complete(_ header: UnsafeBufferPointer<UInt8>) -> Bool { true }
}

/// The session that nghttp2 keeps for one end of a connection.
///
/// Belongs to its endpoint, which must outlive it, and is used on the endpoint's thread.
package final class HTTP2Session {
    package enum Role {
        case client
        case server
    }

    private unowned let endpoint: any HTTP2Endpoint
    /// nghttp2's session; nil after `close`.
    package private(set) var pointer: OpaquePointer?

    /// Returns nil if memory is short.
    package init?(_ role: Role, of endpoint: any HTTP2Endpoint) {
        self.endpoint = endpoint
        let context = Unmanaged.passUnretained(self).toOpaque()
        let code =
            switch role {
            case .client: nghttp2_session_client_new2(&pointer, Self.callbacks, context, Self.options)
            case .server: nghttp2_session_server_new2(&pointer, Self.callbacks, context, Self.options)
            }
        guard code == 0, pointer != nil else { return nil }
    }

    deinit { close() }

    /// Frees nghttp2's session. Never called from inside nghttp2.
    package func close() {
        nghttp2_session_del(pointer)
        pointer = nil
    }

    private nonisolated(unsafe) static let options: OpaquePointer? = {
        var options: OpaquePointer?
        guard nghttp2_option_new(&options) == 0 else { return nil }
        // The other end may go on sending when what it sent has been read.
        nghttp2_option_set_no_auto_window_update(options, 1)
        return options
    }()

    private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            if let frame { endpoint(context)?.begin(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameSize, value, valueSize, _, context in
            guard let frame else { return 0 }
            endpoint(context)?.received(
                UnsafeBufferPointer(start: name, count: nameSize), UnsafeBufferPointer(start: value, count: valueSize),
                on: frame.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            if let frame { endpoint(context)?.received(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
            endpoint(context)?.received(UnsafeBufferPointer(start: bytes, count: count), on: id)
            return 0
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, _, header, _, _, context in
            let header = UnsafeBufferPointer(start: header, count: frameHeaderSize)
            return endpoint(context)?.complete(header) ?? true ? 0 : NGHTTP2_ERR_PAUSE.rawValue
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            if let frame { endpoint(context)?.sent(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
            endpoint(context)?.closed(id, code)
            return 0
        }
        return callbacks
    }()

    /// The size of the header of a frame (RFC 9113 section 4.1).
    package static let frameHeaderSize = 9

    private static func endpoint(_ context: UnsafeMutableRawPointer?) -> (any HTTP2Endpoint)? {
        context.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue().endpoint }
    }
}
