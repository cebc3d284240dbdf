import CCurl
import HTTPMessages

extension Transfer {
    /// Returns the error for one of libcurl's codes (libcurl-errors(3)).
    func error(for result: CURLcode) -> HTTPError {
        let code: HTTPError.Code
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_READ_ERROR,
            CURLE_ABORTED_BY_CALLBACK:
            code = .invalidMessage
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: code = .couldNotResolve
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: code = .couldNotConnect
        case CURLE_OPERATION_TIMEDOUT: code = .timedOut
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
            code = .insecure
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            code = .connectionLost
        default: code = .protocolViolation
        }
        let detail = String(cString: errorBuffer)
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(result)) : detail
        let remedy = code == .insecure ? " Check the URL, or name the certificate authority to trust." : ""
        return HTTPError(code, "The request to \(origin) failed: \(text).\(remedy)")
    }
}
