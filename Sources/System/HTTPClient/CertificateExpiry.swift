import CCurl
import SystemIO

extension HTTPClient {
    /// Returns the end of the validity of an `https` server's certificate, as OpenSSL prints it:
    /// `Nov 28 09:00:00 2027 GMT`; nil if the server cannot be reached or its certificate is not
    /// trusted.
    ///
    /// Opens a connection of its own, for which it waits at most ten seconds.
    ///
    /// - Parameter authorities: PEM file of the certificates to trust instead of the system's.
    package static func certificateExpiry(of url: String, authorities: String?) async -> String? {
        guard let thread = try? WorkerThreads(count: 1, named: "certificate") else { return nil }
        defer { thread.stop() }
        return try? await thread.run { readCertificateExpiry(of: url, authorities: authorities) }
    }

    private static func readCertificateExpiry(of url: String, authorities: String?) -> String? {
        guard let easy = curl_easy_init() else { return nil }
        defer { curl_easy_cleanup(easy) }
        var codes = [
            ferry_curl_set_string(easy, CURLOPT_URL, url), ferry_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "https"),
            ferry_curl_set_long(easy, CURLOPT_NOSIGNAL, 1), ferry_curl_set_long(easy, CURLOPT_CERTINFO, 1),
            ferry_curl_set_long(easy, CURLOPT_NOBODY, 1), ferry_curl_set_long(easy, CURLOPT_TIMEOUT, 10),
        ]
        if let authorities {
            codes.append(ferry_curl_set_string(easy, CURLOPT_CAINFO, authorities))
            codes.append(ferry_curl_set_pointer(easy, CURLOPT_CAPATH, nil))
        }
        guard codes.allSatisfy({ $0 == CURLE_OK }), curl_easy_perform(easy) == CURLE_OK else { return nil }
        return ferry_curl_certificate_expiry(easy).map { String(cString: $0) }
    }
}
