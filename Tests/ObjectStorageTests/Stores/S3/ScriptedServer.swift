import HTTPClient
import HTTPMessages
import HTTPServer
import ObjectStorage
import Synchronization

/// A server on a real socket that responds by a script and records the requests.
final class ScriptedServer: Sendable {
    typealias Answer = @Sendable (HTTPServerRequest) -> HTTPResponse

    private let answers: Mutex<[Answer]>
    private let requests = Mutex<[HTTPServerRequest]>([])
    private let server = Mutex<HTTPServer?>(nil)

    /// Creates a server that repeats the last response.
    convenience init(_ answers: Answer...) { self.init(answers: answers) }

    init(answers: [Answer]) { self.answers = Mutex(answers) }

    var seen: [HTTPServerRequest] { requests.withLock { $0 } }

    var isExhausted: Bool { answers.withLock { $0.count <= 1 } }

    /// Starts listening and returns a store that signs with these credentials and this clock.
    func store(
        now: @escaping @Sendable () -> Int64 = { 1_800_000_000 },
        integrity: S3Configuration.Integrity = .sha256, usesArchives: Bool = false,
        credentials: @escaping S3Credentials.Provider = { S3Credentials(accessKey: "A", secretKey: "S") }
    ) async throws -> S3ObjectStore {
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { [self] request in
            _ = try? await request.body.collect(limit: 1 << 20)
            requests.withLock { $0.append(request) }
            let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return answer(request)
        }
        let address = try server.start()
        self.server.withLock { $0 = server }
        var configuration = try S3Configuration(endpoint: "http://\(address)", bucket: "ferry")
        configuration.integrity = integrity
        configuration.usesArchives = usesArchives
        return S3ObjectStore(configuration, credentials: credentials, client: HTTPClient(), now: now)
    }

    func stop() async { await server.withLock { $0 }?.stop() }

    static func error(_ status: HTTPStatus, _ code: String, headers: HTTPHeaders = [:]) -> Answer {
        { _ in
            HTTPResponse(
                status, headers: headers, body: .text("<Error><Code>\(code)</Code><Message>no</Message></Error>"))
        }
    }

    static func page(_ status: HTTPStatus, _ html: String = "<html><body>Sign in</body></html>") -> Answer {
        { _ in HTTPResponse(status, headers: ["Content-Type": "text/html"], body: .text(html)) }
    }

    static let stored: Answer = { _ in HTTPResponse(.ok, headers: ["ETag": "\"e\"", "x-amz-request-id": "1"]) }
}
