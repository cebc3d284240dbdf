import CCurl
import Synchronization
import SystemIO

/// The error of a mail that was not accepted. It names neither the recipient nor the password.
package struct SMTPError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether the mail server may have accepted the mail, so that it must not be sent again.
    package var mayHaveArrived = false
    /// Whether the mail server refused the mail, its sender or its recipient for good (RFC 5321,
    /// section 4.2.1).
    package var isPermanent = false
}

/// Hands mails to a mail server (RFC 5321) with libcurl.
package final class SMTPClient: Sendable {
    package struct Configuration: Sendable, Hashable {
        /// `smtp://host:port`, which must offer STARTTLS unless it is on this machine, or
        /// `smtps://host:port`.
        package var url: String
        /// The sender's address.
        package var sender: String
        package var user: String?
        package var password: String?

        package init(url: String, sender: String, user: String? = nil, password: String? = nil) {
            self.url = url
            self.sender = sender
            self.user = user
            self.password = password
        }
    }

    /// The number of mails that are handed over at once; further ones are refused.
    private static let limit = 8
    private static let timeoutSeconds = 30

    private let configuration: Configuration
    private let active = Mutex(0)
    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Sends a mail of plain text, and returns when the mail server has accepted it.
    ///
    /// - Parameters:
    ///   - recipient: An address without control characters and spaces.
    ///   - date: The value of the header field `Date`.
    ///   - headers: More header fields.
    /// - Throws: `SMTPError`; `SystemError` if there is no thread for it; `CancellationError` if the task is
    ///   cancelled, and then the mail may still be sent.
    package func send(
        to recipient: String, subject: String, text: String, date: String, headers: [(name: String, value: String)] = []
    ) async throws {
        let lines = [recipient, configuration.sender, subject, date] + headers.flatMap { [$0.name, $0.value] }
        guard lines.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }),
            !recipient.contains(where: { "<> ".contains($0) })
        else { throw SMTPError(description: "The address of a mail has characters that no address may have.") }
        let isFree = active.withLock { active in
            guard active < Self.limit else { return false }
            active += 1
            return true
        }
        guard isFree else { throw SMTPError(description: "Too many mails are being sent.") }
        let message = """
            Date: \(date)\r
            From: <\(configuration.sender)>\r
            To: <\(recipient)>\r
            Subject: \(subject)\r
            MIME-Version: 1.0\r
            Content-Type: text/plain; charset=utf-8\r
            Content-Transfer-Encoding: 8bit\r
            Auto-Submitted: auto-generated\r

            """
        let body = text.split(separator: "\n", omittingEmptySubsequences: false).map { "\($0)\r\n" }.joined()
        let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        let bytes = Array("\(message)\(fields)\r\n\(body)".utf8)
        let outcome = AsyncResult<Void>()
        // libcurl's simple interface blocks, so each mail has a thread.
        do {
            try WorkerThread.start(named: "mail") { [self] in
                let result = Result { try perform(recipient, bytes) }
                active.withLock { $0 -= 1 }
                outcome.resolve(result)
            }
        } catch {
            active.withLock { $0 -= 1 }
            throw error
        }
        try await outcome.value()
    }

    /// The unread rest of a mail.
    private final class Reader {
        private let bytes: [UInt8]
        private var position = 0
        var isAtEnd: Bool { position == bytes.count }

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            position += count
            return count
        }
    }

    private func perform(_ recipient: String, _ message: [UInt8]) throws {
        guard Self.libraryIsReady, let easy = curl_easy_init() else {
            throw SMTPError(description: "libcurl cannot be used.")
        }
        defer { curl_easy_cleanup(easy) }
        let recipients = curl_slist_append(nil, "<\(recipient)>")
        defer { curl_slist_free_all(recipients) }
        let reader = Reader(message)
        let result = withExtendedLifetime(reader) {
            let codes = [
                ferry_curl_set_string(easy, CURLOPT_URL, configuration.url),
                ferry_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps"),
                ferry_curl_set_string(easy, CURLOPT_MAIL_FROM, "<\(configuration.sender)>"),
                ferry_curl_set_pointer(easy, CURLOPT_MAIL_RCPT, recipients),
                ferry_curl_set_long(easy, CURLOPT_UPLOAD, 1), ferry_curl_set_long(easy, CURLOPT_NOSIGNAL, 1),
                ferry_curl_set_long(easy, CURLOPT_TIMEOUT, Self.timeoutSeconds),
                // A password must not travel in the clear; mail servers of this machine need no TLS.
                ferry_curl_set_long(
                    easy, CURLOPT_USE_SSL, isLocal ? Int(CURLUSESSL_TRY.rawValue) : Int(CURLUSESSL_ALL.rawValue)),
                ferry_curl_set_data_callback(easy, CURLOPT_READFUNCTION) { buffer, size, count, context in
                    guard let buffer, let context else { return 0 }
                    let reader = Unmanaged<Reader>.fromOpaque(context).takeUnretainedValue()
                    return reader.read(
                        into: UnsafeMutableRawBufferPointer(start: buffer, count: size.saturatingMultiplied(by: count)))
                },
                ferry_curl_set_pointer(easy, CURLOPT_READDATA, Unmanaged.passUnretained(reader).toOpaque()),
                configuration.user.map { ferry_curl_set_string(easy, CURLOPT_USERNAME, $0) } ?? CURLE_OK,
                configuration.password.map { ferry_curl_set_string(easy, CURLOPT_PASSWORD, $0) } ?? CURLE_OK,
            ]
            return codes.first { $0 != CURLE_OK } ?? curl_easy_perform(easy)
        }
        guard result == CURLE_OK else {
            // After the whole mail, only an answer that refuses it is certain.
            let answer = ferry_curl_get_long(easy, CURLINFO_RESPONSE_CODE)
            throw SMTPError(
                description: "The mail server did not accept a mail: \(String(cString: curl_easy_strerror(result))).",
                mayHaveArrived: reader.isAtEnd && !(400..<600).contains(answer),
                // A password may be mended.
                isPermanent: (500..<600).contains(answer) && result != CURLE_LOGIN_DENIED)
        }
    }

    private var isLocal: Bool { Self.isLocal(configuration.url) }

    /// Whether the host of a URL is this machine, by the reading of the URL by which libcurl connects.
    static func isLocal(_ url: String) -> Bool {
        guard let parts = curl_url() else { return false }
        defer { curl_url_cleanup(parts) }
        var text: UnsafeMutablePointer<CChar>?
        defer { curl_free(text) }
        guard curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            curl_url_get(parts, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return false }
        let host = String(cString: text)
        if ["localhost", "[::1]"].contains(host) { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.first == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }
}
