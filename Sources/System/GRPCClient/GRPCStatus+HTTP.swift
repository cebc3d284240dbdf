import CNGHTTP2
import GRPCProtocol

extension GRPCStatus {
    private static let httpPrefix = "The answer is not a gRPC server's"

    /// Whether the status stands for a response that no gRPC server sends, for example that of a
    /// proxy or a captive portal.
    package var isForeignAnswer: Bool { message.hasPrefix(Self.httpPrefix) }

    /// Creates the status of a call whose response has none, from the HTTP status
    /// (https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md).
    init(httpStatus: Int, contentType: String?) {
        let code: Code =
            switch httpStatus {
            case 400: .internal
            case 401: .unauthenticated
            case 403: .permissionDenied
            case 404: .unimplemented
            case 429, 502, 503, 504: .unavailable
            default: .unknown
            }
        let type = contentType.map { " and the content type \"\($0.prefix(100))\"" } ?? ""
        self.init(code, "\(Self.httpPrefix): it has the HTTP status \(httpStatus)\(type).")
    }

    /// Creates the status of a call whose stream was reset, from the HTTP/2 error code
    /// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Errors).
    init(resetWith code: UInt32) {
        let meaning: Code =
            switch nghttp2_error_code(code) {
            case NGHTTP2_REFUSED_STREAM: .unavailable
            case NGHTTP2_CANCEL: .cancelled
            case NGHTTP2_ENHANCE_YOUR_CALM: .resourceExhausted
            case NGHTTP2_INADEQUATE_SECURITY: .permissionDenied
            case NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_FLOW_CONTROL_ERROR,
                NGHTTP2_SETTINGS_TIMEOUT, NGHTTP2_FRAME_SIZE_ERROR, NGHTTP2_COMPRESSION_ERROR, NGHTTP2_CONNECT_ERROR:
                .internal
            default: .unknown
            }
        self.init(meaning, "The server has reset the call with \(String(cString: nghttp2_http2_strerror(code))).")
    }
}
