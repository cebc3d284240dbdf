import Cryptography
import HTTPMessages

/// The signer of the chunks of an `aws-chunked` body. Each signature covers the previous one.
struct ChunkSigner: Sendable {
    let key: [UInt8]
    private var previous: String
    private let preamble: String

    init(key: [UInt8], seed: String, date: String, scope: String) {
        self.key = key
        previous = seed
        preamble = "\(date)\n\(scope)"
    }

    /// Whether `signature` is that of the next chunk.
    mutating func accepts(_ signature: String, chunk: SHA256Digest) -> Bool {
        accepts(signature, "AWS4-HMAC-SHA256-PAYLOAD\n\(preamble)\n\(previous)\n\(SHA256.hash("").hex)\n\(chunk.hex)")
    }

    /// Whether `signature` is that of the trailing headers, given as lines `name:value\n`.
    mutating func accepts(_ signature: String, trailer: String) -> Bool {
        accepts(signature, "AWS4-HMAC-SHA256-TRAILER\n\(preamble)\n\(previous)\n\(SHA256.hash(trailer).hex)")
    }

    private mutating func accepts(_ signature: String, _ text: String) -> Bool {
        previous = HMACSHA256.authenticate(text, key: key).hex
        return ConstantTime.areEqual(previous, signature)
    }
}

/// A decoder of `aws-chunked`: `size[;chunk-signature=…]\r\n data \r\n … 0\r\n trailers \r\n`
/// ("Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks",
/// Amazon S3 API Reference).
///
/// The bytes of a signed chunk are returned as they arrive, and its signature is checked at its
/// end. They are verified only once `next` has returned nil.
struct ChunkedBody {
    private var source: HTTPBody.Iterator
    private var signer: ChunkSigner?
    private let hasTrailer: Bool
    private var buffer: [UInt8] = []
    private var position = 0
    private var left = 0
    /// The signature of the chunk that is being read, and the hash of its bytes so far.
    private var signature = ""
    private var hash = SHA256()
    private var isOver = false
    /// The trailing headers, by lower-case name; complete when `next` has returned nil.
    private(set) var trailer: [String: String] = [:]

    init(_ body: HTTPBody, signer: ChunkSigner?, hasTrailer: Bool) {
        source = body.makeAsyncIterator()
        self.signer = signer
        self.hasTrailer = hasTrailer
    }

    /// Returns the next decoded bytes; nil at the end.
    mutating func next() async throws -> [UInt8]? {
        if isOver { return nil }
        if left == 0 {
            let header = try await line()
            let parts = header.split(separator: ";", maxSplits: 1)
            guard let digits = parts.first, let size = Int(digits, radix: 16), size >= 0 else {
                throw S3Error.incompleteBody
            }
            signature = parts.count == 2 ? parts[1].split(separator: "=").last.map(String.init) ?? "" : ""
            guard size > 0 else {
                try checkSignature()
                try await readTrailer()
                return nil
            }
            left = size
        }
        while position == buffer.count { try await fill() }
        let count = min(left, buffer.count - position)
        let bytes = Array(buffer[position..<position + count])
        position += count
        left -= count
        if signer != nil { hash.update(bytes) }
        if left == 0 {
            try checkSignature()
            try await expectEndOfLine()
        }
        return bytes
    }

    /// Checks the signature at the end of a chunk.
    private mutating func checkSignature() throws(S3Error) {
        guard signer != nil else { return }
        guard signer?.accepts(signature, chunk: hash.finish()) == true else {
            throw S3Error("SignatureDoesNotMatch", "The signature of a chunk does not match.", 403)
        }
    }

    private mutating func readTrailer() async throws {
        isOver = true
        guard hasTrailer else { return try await expectEndOfLine() }
        var lines = ""
        var signature: String?
        var size = 0
        while let line = try await lineIfAny(), !line.isEmpty {
            size += line.utf8.count
            guard size <= Self.trailerLimit else {
                throw S3Error.invalidRequest("The trailing headers have more than \(Self.trailerLimit) bytes.")
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw S3Error.incompleteBody }
            let name = parts[0].lowercased()
            let value = parts[1].trimmed
            if name == "x-amz-trailer-signature" {
                signature = value
            } else {
                trailer[name] = value
                lines += "\(name):\(value)\n"
            }
        }
        if signer != nil, signer?.accepts(signature ?? "", trailer: lines) != true {
            throw S3Error("SignatureDoesNotMatch", "The signature of the trailer does not match.", 403)
        }
    }

    /// The maximum total size of the trailing headers in bytes.
    private static let trailerLimit = 8192

    private mutating func fill() async throws {
        guard let chunk = try await source.next() else { throw S3Error.incompleteBody }
        buffer.removeFirst(position)
        position = 0
        buffer += chunk
    }

    private mutating func expectEndOfLine() async throws {
        guard try await line().isEmpty else { throw S3Error.incompleteBody }
    }

    private mutating func line() async throws -> String {
        guard let line = try await lineIfAny() else { throw S3Error.incompleteBody }
        return line
    }

    /// Returns a line of at most 8 KiB without its line end; nil at the end of the body.
    private mutating func lineIfAny() async throws -> String? {
        while true {
            if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[position..<end]
                position = end + 1
                guard let text = String(validating: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self) else {
                    throw S3Error.incompleteBody
                }
                return text
            }
            guard buffer.count - position <= 8192 else { throw S3Error.incompleteBody }
            guard let chunk = try await source.next() else {
                if position == buffer.count { return nil }
                throw S3Error.incompleteBody
            }
            buffer.removeFirst(position)
            position = 0
            buffer += chunk
        }
    }
}

extension StringProtocol {
    var trimmed: String {
        var text = self[...]
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
