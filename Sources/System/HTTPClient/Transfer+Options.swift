import CCurl
import HTTPMessages

enum EasyOptions {
    /// The number of bytes read from or written to a socket at once. It is large so that the system
    /// call's cost is small.
    static let bufferSize = 128 << 10

    /// The maximum length of a Unix socket path, which `sun_path` imposes.
    static let socketPathLimit = 107
}

extension Transfer {
    /// Returns the origin of a request; throws `.invalidMessage` if the request cannot be sent.
    static func check(_ request: HTTPRequest) throws -> String {
        guard let authority = authority(of: request.url) else {
            throw HTTPError(.invalidMessage, "A request's URL is not an absolute http or https URL without spaces.")
        }
        let method = HTTPHeaders(dictionaryLiteral: (request.method.rawValue, ""))
        guard method.areValid, request.headers.areValid else {
            throw HTTPError(.invalidMessage, "A request to \(authority) has a malformed method or header field.")
        }
        if let path = request.socketPath {
            guard !path.isEmpty, path.utf8.count <= EasyOptions.socketPathLimit, !path.utf8.contains(0) else {
                throw HTTPError(.invalidMessage, "The socket path \(path) is empty or longer than 107 bytes.")
            }
            return path
        }
        return authority
    }

    /// Returns the host and port of a URL without user information, or nil if the URL is malformed.
    private static func authority(of url: String) -> String? {
        guard url.utf8.count <= 64 << 10, url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        guard let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) else { return nil }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return host.isEmpty ? nil : String(host)
    }

    private var isLoopback: Bool {
        let host = origin.lowercased()
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return name == "localhost" || name.hasSuffix(".localhost") || name.hasPrefix("127.") || name == "[::1]"
    }

    /// Whether the request has a body. Without content, the method decides: PUT, POST and PATCH
    /// then send `Content-Length: 0`.
    private var sendsBody: Bool {
        if case .omitted = request.body.content { return false }
        return request.body.length != 0 || [.put, .post, .patch].contains(request.method)
    }

    func configure(_ easy: UnsafeMutableRawPointer) -> Bool {
        var isRight = true
        func check(_ code: CURLcode) { isRight = isRight && code == CURLE_OK }
        func set(_ option: CURLoption, _ value: Int) { check(ferry_curl_set_long(easy, option, value)) }
        func set(_ option: CURLoption, _ value: String) { check(ferry_curl_set_string(easy, option, value)) }

        check(ferry_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer))
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PATH_AS_IS, 1)
        // One connection for each transfer: with HTTP/2, pausing one transfer would delay the
        // others on its connection.
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        // Detects a vanished peer of a stream that is silent for long.
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_BUFFERSIZE, EasyOptions.bufferSize)
        if let agent = engine.configuration.userAgent { set(CURLOPT_USERAGENT, agent) }
        if let file = engine.configuration.certificateAuthorities { set(CURLOPT_CAINFO, file) }
        if let path = request.socketPath { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if request.socketPath != nil || isLoopback { set(CURLOPT_PROXY, "") }

        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.timeouts.connect))
        if let total = request.timeouts.total { set(CURLOPT_TIMEOUT_MS, milliseconds(total)) }
        if let stall = request.timeouts.stall {
            set(CURLOPT_LOW_SPEED_LIMIT, request.timeouts.minimumRate)
            set(CURLOPT_LOW_SPEED_TIME, max(1, (milliseconds(stall) + 999) / 1000))
        }

        if request.method == .head {
            set(CURLOPT_NOBODY, 1)
        } else if sendsBody {
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_UPLOAD_BUFFERSIZE, min(EasyOptions.bufferSize, max(16 << 10, request.body.length ?? .max)))
            check(ferry_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.length ?? -1)))
        }
        if request.method != .head { set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        check(setHeaders(easy))
        setCallbacks(easy, check)
        return isRight
    }

    private func setHeaders(_ easy: UnsafeMutableRawPointer) -> CURLcode {
        var list: UnsafeMutablePointer<curl_slist>?
        // Empty fields keep libcurl from waiting for "100 Continue" and from adding an Accept field
        // of its own.
        var lines = ["Expect:", "Accept:"]
        for field in request.headers {
            let name = field.name.lowercased()
            if ["content-length", "transfer-encoding", "expect", "connection"].contains(name) { continue }
            if name == "accept" { lines.removeAll { $0 == "Accept:" } }
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return CURLE_OUT_OF_MEMORY
            }
            list = longer
        }
        guard let list else { return CURLE_OK }
        lists.append(list)
        return ferry_curl_set_list(easy, list)
    }

    private func setCallbacks(_ easy: UnsafeMutableRawPointer, _ check: (CURLcode) -> Void) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        check(ferry_curl_set_pointer(easy, CURLOPT_HEADERDATA, context))
        check(ferry_curl_set_pointer(easy, CURLOPT_WRITEDATA, context))
        check(ferry_curl_set_pointer(easy, CURLOPT_READDATA, context))
        check(ferry_curl_set_pointer(easy, CURLOPT_SEEKDATA, context))
        check(
            ferry_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let transfer = Transfer.from(context) else { return 0 }
                let all = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return transfer.takeHeaderLine(all) ? all.count : 0
            })
        check(
            ferry_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let transfer = Transfer.from(context) else { return 0 }
                let all = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return transfer.takeBody(all) ? all.count : 0
            })
        check(
            ferry_curl_set_data_callback(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
                guard let transfer = Transfer.from(context) else { return Int(CURL_READFUNC_ABORT) }
                return transfer.fill(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            })
        check(
            ferry_curl_set_seek_callback(easy) { context, offset, origin in
                guard let transfer = Transfer.from(context), origin == 0, offset >= 0, transfer.rewind(to: Int(offset))
                else { return CURL_SEEKFUNC_FAIL }
                return CURL_SEEKFUNC_OK
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Returns a time limit in milliseconds for libcurl: at least 1, because 0 means "no limit" or "the
/// default", and at most about 24 days.
private func milliseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, seconds < 2_000_000 else { return seconds < 0 ? 1 : 2_000_000_000 }
    return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
}
