import Glibc
import HTTPMessages
import HTTPServer

/// A reader of `multipart/form-data` bodies that upload a file (RFC 7578): fields, then the file,
/// as they arrive. Fields after the file are ignored, as on S3.
actor FormReader {
    /// The maximum number of bytes before the file, as on S3.
    static let fieldsLimit = 20 << 10

    private var body: HTTPBody.Iterator
    /// The bytes that end each part: a line break, two hyphens and the boundary.
    private let delimiter: [UInt8]
    /// The bytes that were read. They start with a line break, so that the first boundary is found
    /// like the others.
    private var buffer = Array("\r\n".utf8)
    private var fieldBytes = 0
    private var isAtEnd = false

    /// The allowed lengths of the file in bytes.
    private var length: ClosedRange<Int64> = 0...Int64.max
    private var fileBytes: Int64 = 0

    /// Creates a reader, or returns nil if the request has no such form.
    init?(_ request: HTTPServerRequest) {
        guard let type = request.headers["Content-Type"], let boundary = Self.boundary(type) else { return nil }
        delimiter = Array("\r\n--\(boundary)".utf8)
        body = request.body.makeAsyncIterator()
    }

    /// Whether the content type is that of such a form, well-formed or not.
    static func isForm(_ type: String?) -> Bool {
        type?.prefix { $0 != ";" }.trimmed.lowercased() == "multipart/form-data"
    }

    static func boundary(_ type: String) -> String? {
        guard isForm(type), let boundary = parameter("boundary", of: type), (1...70).contains(boundary.utf8.count)
        else {
            return nil
        }
        return boundary
    }

    /// Returns the value of a parameter of a header field, quoted or not.
    static func parameter(_ name: String, of header: String) -> String? {
        var rest = header[...]
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == " " || $0 == "\t" }
            guard let equals = rest.firstIndex(where: { $0 == "=" || $0 == ";" }), rest[equals] == "=" else { continue }
            let found = rest[..<equals].trimmed.lowercased()
            rest = rest[rest.index(after: equals)...]
            var value = ""
            if rest.first == "\"" {
                rest.removeFirst()
                while let next = rest.popFirst(), next != "\"" {
                    // Browsers escape quotes only, and write the backslashes of file names
                    // unchanged.
                    if next == "\\", rest.first == "\"" { value.append(rest.removeFirst()) } else { value.append(next) }
                }
            } else {
                value = rest.prefix { $0 != ";" }.trimmed
            }
            if found == name { return value }
        }
        return nil
    }

    /// Returns the fields before the file, by lower-case name, and the name of the file.
    func fields() async throws -> (fields: [String: String], fileName: String) {
        var fields: [String: String] = [:]
        _ = try await text(before: delimiter)
        while true {
            guard try await isPart() else {
                throw S3Error.invalidArgument("POST requires exactly one file upload per request.")
            }
            var disposition = ""
            while case let line = try await text(before: Self.lineEnd), !line.isEmpty {
                guard let colon = line.firstIndex(of: ":") else { throw Self.malformed }
                if line[..<colon].trimmed.lowercased() == "content-disposition" {
                    disposition = line[line.index(after: colon)...].trimmed
                }
            }
            guard let name = Self.parameter("name", of: disposition)?.lowercased(), !name.isEmpty else {
                throw Self.malformed
            }
            guard name != "file" else { return (fields, Self.parameter("filename", of: disposition) ?? "") }
            guard fields.updateValue(try await text(before: delimiter), forKey: name) == nil else {
                throw S3Error.invalidArgument("The form has the field \(name) twice.")
            }
        }
    }

    /// Sets the allowed lengths of the file. A file of another length is refused as soon as its
    /// length is known.
    func expect(_ length: ClosedRange<Int64>) { self.length = length }

    /// Returns the next bytes of the file; nil at its end.
    func next() async throws -> [UInt8]? {
        while !isAtEnd {
            if let end = position(of: delimiter) {
                isAtEnd = true
                let bytes = Array(buffer[..<end])
                try count(bytes.count)
                guard fileBytes >= length.lowerBound else {
                    throw S3Error(
                        "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", 400)
                }
                return bytes.isEmpty ? nil : bytes
            }
            // Bytes that may start the delimiter are kept.
            let sure = buffer.count - delimiter.count + 1
            if sure > 0 {
                let bytes = Array(buffer[..<sure])
                buffer.removeFirst(sure)
                try count(bytes.count)
                return bytes
            }
            try await readMore()
        }
        return nil
    }

    private func count(_ bytes: Int) throws {
        fileBytes += Int64(bytes)
        guard fileBytes <= length.upperBound else {
            throw S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", 400)
        }
    }

    // MARK: Parts

    private static let lineEnd = Array("\r\n".utf8)

    private static let malformed = S3Error(
        "MalformedPOSTRequest", "The body of your POST request is not well-formed multipart/form-data.", 400)

    /// Whether another part follows after a delimiter. Otherwise the form ends.
    private func isPart() async throws -> Bool {
        let rest = try await text(before: Self.lineEnd, orAtEnd: true)
        if rest.hasPrefix("--") { return false }
        guard rest.trimmed.isEmpty else { throw Self.malformed }
        return true
    }

    /// Returns the text before `end`, and skips both.
    private func text(before end: [UInt8], orAtEnd: Bool = false) async throws -> String {
        while true {
            if let position = position(of: end) {
                let bytes = Array(buffer[..<position])
                buffer.removeFirst(position + end.count)
                fieldBytes += position + end.count
                try checkFields(0)
                guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.malformed }
                return text
            }
            try checkFields(buffer.count)
            if orAtEnd, buffer.starts(with: "--".utf8) { return "--" }
            try await readMore()
        }
    }

    private func checkFields(_ more: Int) throws {
        guard fieldBytes + more <= Self.fieldsLimit + delimiter.count else {
            throw S3Error(
                "MaxPostPreDataLengthExceeded", "Your POST request fields preceding the upload file were too large.",
                400)
        }
    }

    private func readMore() async throws {
        var body = body
        let chunk = try await body.next()
        self.body = body
        guard let chunk else { throw Self.malformed }
        buffer += chunk
    }

    /// Returns the first position of a pattern that begins with a line break.
    private func position(of pattern: [UInt8]) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while bytes.count - start >= pattern.count,
                let found = memchr(base + start, Int32(UInt8(ascii: "\r")), bytes.count - start - pattern.count + 1)
            {
                if memcmp(found, pattern, pattern.count) == 0 { return UnsafeRawPointer(found) - base }
                start = UnsafeRawPointer(found) - base + 1
            }
            return nil
        }
    }
}
