/// Decodes one HTTP/1.1 response (RFC 9112) from the bytes of a connection.
///
/// The decoder is a value without I/O. It is strict: lines end in CR LF, the length of the body is
/// given exactly once, and nothing may follow the response. It is bounded: a head, a line between
/// chunks, and the trailer section have limits, and the body is handed out as it comes. The result
/// does not depend on how the bytes are cut.
package struct HTTPResponseDecoder: Sendable {
    private enum State {
        case statusLine
        case fields
        case content(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
        case over
    }

    /// The most bytes of the status line and the header fields together, and of a trailer section.
    private static let headLimit = 64 << 10
    /// The most bytes of a line with a chunk's size and its extensions.
    private static let chunkLineLimit = 1 << 10

    /// The status; nil until the whole head has been decoded.
    package private(set) var status: HTTPStatus?
    /// The header fields, complete when `status` is set.
    package private(set) var headers = HTTPHeaders()
    private var state = State.statusLine
    private var announcedStatus = HTTPStatus(rawValue: 0)
    private var line: [UInt8] = []
    private var bytesAllowed = Self.headLimit

    package init() {}

    /// Whether the whole response has been decoded.
    package var isComplete: Bool { if case .over = state { true } else { false } }

    /// Decodes the next bytes of the connection and returns the bytes of the body among them.
    ///
    /// - Throws: `.protocolViolation` for anything but a well-formed response, and
    ///   `.headersTooLarge` above a limit.
    package mutating func decode(_ input: some Collection<UInt8>) throws(HTTPError) -> [UInt8] {
        var body: [UInt8] = []
        var rest = input[...]
        while !rest.isEmpty {
            switch state {
            case .content(let left):
                let count = take(left, of: &rest, into: &body)
                state = count == left ? .over : .content(left: left - count)
            case .chunk(let left):
                let count = take(left, of: &rest, into: &body)
                state = count == left ? .chunkEnd : .chunk(left: left - count)
            case .over:
                throw Self.violation("More bytes follow the response.")
            case .statusLine, .fields, .chunkSize, .chunkEnd, .trailers:
                guard try takeLine(of: &rest) else { return body }
                let line = line
                self.line.removeAll(keepingCapacity: true)
                try decode(line: line)
            }
        }
        return body
    }

    /// Checks that the connection may end now.
    ///
    /// - Throws: `.connectionLost` if the response is not complete.
    package func finish() throws(HTTPError) {
        guard isComplete else { throw HTTPError(.connectionLost, "The connection ended before the response did.") }
    }

    private func take<Bytes: Collection<UInt8>>(
        _ limit: Int, of rest: inout Bytes, into body: inout [UInt8]
    ) -> Int where Bytes.SubSequence == Bytes {
        let part = rest.prefix(limit)
        body += part
        rest = rest.dropFirst(part.count)
        return part.count
    }

    /// Appends to `line` up to the next CR LF. Returns whether the line is complete.
    private mutating func takeLine<Bytes: Collection<UInt8>>(of rest: inout Bytes) throws(HTTPError) -> Bool
    where Bytes.SubSequence == Bytes {
        while let byte = rest.first {
            rest = rest.dropFirst()
            bytesAllowed -= 1
            guard bytesAllowed >= 0 else { throw HTTPError(.headersTooLarge, "The response has a head without end.") }
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            guard line.popLast() == UInt8(ascii: "\r"), !line.contains(UInt8(ascii: "\r")) else {
                throw Self.violation("A line of the response does not end in CR LF.")
            }
            return true
        }
        return false
    }

    private mutating func decode(line: [UInt8]) throws(HTTPError) {
        switch state {
        case .statusLine:
            try decode(statusLine: line)
            state = .fields
        case .fields:
            if line.isEmpty { try endHead() } else { try decode(field: line) }
        case .chunkSize:
            let size = try Self.chunkSize(line)
            state = size == 0 ? .trailers : .chunk(left: size)
            bytesAllowed = size == 0 ? Self.headLimit : Self.chunkLineLimit
        case .chunkEnd:
            guard line.isEmpty else { throw Self.violation("A chunk of the response is longer than its size.") }
            state = .chunkSize
            bytesAllowed = Self.chunkLineLimit
        case .trailers:
            if line.isEmpty { state = .over }
        case .content, .chunk, .over: break
        }
    }

    private mutating func decode(statusLine line: [UInt8]) throws(HTTPError) {
        let start = Array("HTTP/1.1 ".utf8)
        let code = line.dropFirst(start.count).prefix { $0 != UInt8(ascii: " ") }
        guard line.starts(with: start), code.count == 3, code.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(String(decoding: code, as: UTF8.self)), number >= 200
        else { throw Self.violation("The response has no status line of HTTP/1.1.") }
        announcedStatus = HTTPStatus(rawValue: number)
    }

    private mutating func decode(field line: [UInt8]) throws(HTTPError) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let text = String(validating: line, as: UTF8.self)
        else { throw Self.violation("The response has a malformed header field.") }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        let value = text.utf8.dropFirst(colon + 1)
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let trimmed = value.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        headers.add(name, String(decoding: Array(trimmed), as: UTF8.self))
    }

    private mutating func endHead() throws(HTTPError) {
        if let problem = headers.framingProblem { throw Self.violation(problem) }
        guard headers.areValid else { throw Self.violation("The response has a malformed header field.") }
        if announcedStatus == .noContent || announcedStatus == .notModified {
            state = .over
        } else if headers["Transfer-Encoding"] != nil {
            state = .chunkSize
            bytesAllowed = Self.chunkLineLimit
        } else if let length = headers.contentLength {
            state = length == 0 ? .over : .content(left: length)
        } else {
            throw Self.violation("The response does not give the length of its body.")
        }
        status = announcedStatus
    }

    private static func chunkSize(_ line: [UInt8]) throws(HTTPError) -> Int {
        let digits = String(decoding: line.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
        guard digits.utf8.count <= 15, digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let size = Int(digits, radix: 16)
        else { throw violation("A chunk of the response has no size.") }
        return size
    }

    private static func violation(_ message: String) -> HTTPError { HTTPError(.protocolViolation, message) }
}
