import CivilTime
import Control
import Cryptography
import Dispatch
import IdentityServer
import JSON
import Synchronization
import XML
import YAML

@testable import GRPCClient
@testable import GRPCProtocol
@testable import GRPCServer
@testable import HTTPMessages
@testable import HTTPServer
@testable import ObjectStorage
@testable import S3Server

// Decoders of bytes from sockets and the network, except the messages of gRPC.

func decodeJSON(_ input: [UInt8]) {
    guard let json = try? JSON(parsing: input) else { return }
    check((try? JSON(parsing: json.bytes)) == json, "JSON is read back")
}

/// Decodes configuration files and front matter.
func decodeYAML(_ input: [UInt8]) {
    guard let configuration = try? YAMLConfiguration(parsing: input) else { return }
    for key in configuration.keys {
        _ = try? configuration.string(key)
        _ = try? configuration.strings(key)
        _ = try? configuration.integer(key)
        _ = try? configuration.number(key, in: 0...1)
        _ = try? configuration.boolean(key)
    }
}

private let controlTypes: [any JSONCodable.Type] = [
    DaemonStatus.self, Problem.self, AccountSummary.self, SignInRequest.self, HealthCheck.self, DeviceSummary.self,
    LogLine.self, SettingSummary.self, HeldDelete.self, TrashedTask.self, TransferSummary.self, TaskDetail.self,
    AttachmentSummary.self, TaskSummary.self, TaskChange.self, TaskFilter.self, ListSummary.self, ConflictSummary.self,
    TaskExplanation.self, FieldExplanation.self, UndoneSummary.self,
]

func decodeControl(_ input: [UInt8]) {
    guard let json = try? JSON(parsing: input) else { return }
    for type in controlTypes {
        guard let value = try? type.init(json: json) else { continue }
        check((try? type.init(json: value.json))?.json == value.json, "\(type) is read back")
    }
}

func decodeXML(_ input: [UInt8]) {
    guard let tree = try? XMLElement(parsing: input) else { return }
    check((try? XMLElement(parsing: tree.document())) == tree, "XML is read back")
    _ = S3Listing.page(input)
}

/// Parses lines of a request: the target, then header fields.
private func request(_ input: [UInt8], body: [UInt8] = []) -> HTTPServerRequest? {
    let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.first, let target = HTTPTarget(String(first)) else { return nil }
    var headers = HTTPHeaders()
    for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[String(line[..<colon])] = String(line[line.index(after: colon)...])
    }
    return HTTPServerRequest(.get, target, headers: headers, body: .bytes(body))
}

/// A credential source with the same secret for every access key.
private struct EveryKey: S3CredentialSource {
    func credential(accessKey: String, sessionToken: String?) -> S3Credential? {
        S3Credential(secretKey: "secret", prefix: nil)
    }
}

func decodeSignature(_ input: [UInt8]) {
    guard let request = request(input) else { return }
    let verifier = SignatureV4(EveryKey(), now: { 1_795_219_200 })
    wait { check((try? await verifier.authenticate(request)) == nil, "a signature was guessed") }
}

/// Decodes a chunked body. The first byte selects whether chunks are signed, and whether there is a
/// trailer.
func decodeChunkedBody(_ input: [UInt8]) {
    let flags = input.first ?? 0
    let signer = flags & 1 == 0 ? nil : ChunkSigner(key: [1], seed: "", date: "", scope: "")
    let pieces = Array(input.dropFirst())
    // Pieces of three bytes, so that no line arrives at once.
    let rest = Rest(bytes: pieces[...])
    wait {
        let body = HTTPBody.stream { rest.next(3) }
        var chunks = ChunkedBody(body, signer: signer, hasTrailer: flags & 2 != 0)
        var size = 0
        while let chunk = try? await chunks.next() { size += chunk.count }
        check(size <= pieces.count, "more came out than went in")
    }
}

private struct UploadedForm: Equatable, Sendable {
    var fields: [String: String]
    var fileName: String
    var file: [UInt8] = []
}

/// Decodes the body of a form whose parts are separated by `--B`.
func decodeForm(_ input: [UInt8]) {
    wait {
        let (whole, cut) = (await form(input, max(1, input.count)), await form(input, 1))
        check(whole == cut, "a form is the same however it is cut")
        guard let whole else { return }
        check(whole.file.count <= input.count, "more came out than went in")
        _ = whole.fields["policy"].flatMap { try? PostPolicy(parsing: Array($0.utf8)) }
    }
}

private func form(_ input: [UInt8], _ size: Int) async -> UploadedForm? {
    let rest = Rest(bytes: input[...])
    var headers = HTTPHeaders()
    headers["Content-Type"] = "multipart/form-data; boundary=B"
    guard let target = HTTPTarget("/bucket"),
        let reader = FormReader(
            HTTPServerRequest(.post, target, headers: headers, body: .stream { rest.next(size) }))
    else { return nil }
    do {
        let (fields, fileName) = try await reader.fields()
        var form = UploadedForm(fields: fields, fileName: fileName)
        while let bytes = try await reader.next() { form.file += bytes }
        return form
    } catch { return nil }
}

/// Decodes the policy of a form, in JSON.
func decodePolicy(_ input: [UInt8]) {
    guard let policy = try? PostPolicy(parsing: input) else { return }
    check(policy.length.lowerBound >= 0, "a length below none")
    for fields in [[:], ["key": "a", "bucket": "b", "acl": "private"]] {
        try? policy.check(fields, now: 1_795_219_200)
        check((try? policy.check(fields, now: policy.expiration)) == nil, "a policy holds after its end")
    }
}

func decodeWebToken(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    for isEmulator in [false, true] {
        let verifier = TokenVerifier(keys: [:], issuer: "i", audience: "a", isEmulator: isEmulator)
        let token = try? verifier.verify(text, now: 1_795_000_000)
        check(isEmulator || token == nil, "a token was believed")
    }
    for alphabet in [Base64.Alphabet.standard, .url] {
        guard let bytes = Base64.decode(text, alphabet: alphabet) else { continue }
        let again = Base64.decode(Base64.encode(bytes, alphabet: alphabet), alphabet: alphabet)
        check(again == bytes, "base64 is read back")
    }
    if let bytes = Hex.decode(text) { check(Hex.decode(Hex.encode(bytes)) == bytes, "hexadecimal is read back") }
}

func decodeHTTP(_ input: [UInt8]) {
    if let request = request(input) {
        _ = (request.target.path, request.target.segments, request.target.query)
        _ = try? ObjectHeaders.keep(request.headers)
        for (_, value) in request.headers.map({ ($0.name, $0.value) }) {
            _ = UTCTime(imfFixdate: value)
            _ = PercentEncoding.decode(value, plusIsSpace: true)
        }
    }
    var parser = ServerSentEventParser(limit: 1000)
    for start in stride(from: 0, to: input.count, by: 7) {
        guard (try? parser.read(Array(input[start..<min(input.count, start + 7)]))) != nil else { return }
    }
}

private struct DecodedResponse: Equatable {
    var status: Int?
    var headers: [HTTPHeaders.Field]
    var body: [UInt8]
    var isComplete: Bool
}

/// A response of the daemon to `ferry`.
func decodeResponse(_ input: [UInt8]) {
    let (whole, cut) = (response(input, max(1, input.count)), response(input, 1))
    check(whole == cut, "a response is the same however it is cut")
    check((whole?.body.count ?? 0) <= input.count, "more came out than went in")
}

private func response(_ input: [UInt8], _ size: Int) -> DecodedResponse? {
    var decoder = HTTPResponseDecoder()
    var body: [UInt8] = []
    for start in stride(from: 0, to: input.count, by: size) {
        guard let bytes = try? decoder.decode(input[start..<min(input.count, start + size)]) else { return nil }
        body += bytes
    }
    return DecodedResponse(
        status: decoder.status?.rawValue, headers: Array(decoder.headers), body: body, isComplete: decoder.isComplete)
}

/// The rest of a body.
private final class Rest: Sendable {
    private let bytes: Mutex<ArraySlice<UInt8>>

    init(bytes: ArraySlice<UInt8>) { self.bytes = Mutex(bytes) }

    func next(_ count: Int) -> [UInt8]? {
        bytes.withLock { bytes in
            defer { bytes = bytes.dropFirst(count) }
            return bytes.isEmpty ? nil : Array(bytes.prefix(count))
        }
    }
}

/// Runs an asynchronous function to its end, on this thread as long as it does not suspend.
private func wait(_ body: @escaping @Sendable () async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.immediateDetached {
        await body()
        done.signal()
    }
    done.wait()
}

/// Decodes a call. Lines are header fields up to an empty line; the rest are bytes of messages,
/// which must not depend on how they are split.
func decodeCall(_ input: [UInt8]) {
    let parts = input.split(separator: UInt8(ascii: "\n"), maxSplits: 8, omittingEmptySubsequences: false)
    var head = RequestHead(limit: 1000)
    var response = ResponseHead(limit: 1000)
    for line in parts.dropLast() {
        let field = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map(
            Array.init)
        guard field.count == 2 else { continue }
        field[0].withUnsafeBufferPointer { name in
            field[1].withUnsafeBufferPointer {
                head.add(name, $0)
                response.add(name, $0)
            }
        }
    }
    head.end()
    _ = response.status
    let body = Array(parts.last ?? [])
    let (whole, cut) = (messages(of: [body]), messages(of: body.map { [$0] }))
    check(whole == cut, "messages are the same however they are cut")
}

private func messages(of pieces: [[UInt8]]) -> [[UInt8]] {
    var reader = MessageReader(limit: 1 << 20)
    var messages: [[UInt8]] = []
    for piece in pieces {
        guard (try? piece.withUnsafeBufferPointer({ try reader.append($0) { messages.append($0) } })) != nil else {
            break
        }
    }
    return messages
}
