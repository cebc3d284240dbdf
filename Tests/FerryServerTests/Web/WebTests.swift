import AccessControl
import BucketStore
import DocumentModel
import DocumentStore
import FirestoreServer
import HTTPMessages
import HTTPServer
import IdentityProtocol
import IdentityServer
import JSON
import S3Server
import ServerData
import SystemIO
import SystemTestKit
import Testing

@testable import FerryServer

private struct NoDocuments: DocumentStoreProvider {
    func store(_ name: DatabaseName) async throws -> any DocumentStore {
        throw DocumentStoreError(.notFound, "There are no documents here.")
    }
}

struct WebTests {
    private static let endpoints = ServerEndpoints(
        http: ListenAddress(host: "127.0.0.1", port: 7441), documents: ListenAddress(host: "127.0.0.1", port: 7440),
        isSecure: false, published: nil, project: "p")

    /// A handler that all tests share, because creating a signing key takes time.
    private static let shared = Task { try await makeHandler() }

    private let endpoints = Self.endpoints

    private static func makeHandler() async throws -> (WebHandler, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let settings = IdentityService.Configuration(issuer: endpoints.url, project: "p")
        let identity = try await IdentityService(directory: directory.path, settings, now: WallClock.seconds)
        let shared = SharedObjects(
            database: DatabaseName(project: "p"), store: { MemoryDocumentStore(DatabaseName(project: "p")) },
            manifest: { _ in nil })
        let quotas = AccountQuotas(quota: { _ in AccountQuota() })
        let objects = S3Handler(
            store: try DirectoryBucketStore(directory: "\(directory.path)/objects"),
            credentials: IdentityCredentials(storage: identity.storage), policy: SharingPolicy(objects: shared),
            quotas: quotas, now: WallClock.microseconds, onError: { _ in })
        let service = FirestoreService(
            catalog: NoDocuments(),
            authenticator: DocumentAuthenticator(identity.authenticator, quotas: quotas, isEmulator: false),
            access: DocumentAccess(quotas: quotas), closing: AsyncGate(isOpen: false), now: WallClock.seconds,
            onError: { _ in })
        let handler = WebHandler(
            endpoints: endpoints,
            identity: identity,
            documents: FirestoreREST(service, isEmulator: false),
            objects: objects,
            probe: {})
        return (handler, directory)
    }

    private func answer(
        _ method: HTTPMethod, _ target: String, _ headers: HTTPHeaders = [:], body: String = ""
    ) async throws -> (status: HTTPStatus, body: String) {
        let request = HTTPServerRequest(method, try #require(HTTPTarget(target)), headers: headers, body: .text(body))
        let response = try await Self.shared.value.0.respond(to: request)
        return (response.status, String(decoding: try await response.body.collect(limit: 1 << 20), as: UTF8.self))
    }

    @Test(
        arguments: [
            (.get, "/", "ferry-server"), (.get, "/healthz", "ok"), (.get, "/.well-known/ferry", "\"bucket\""),
            (.get, "/.well-known/openid-configuration", "jwks_uri"), (.get, "/.well-known/jwks.json", "\"keys\""),
            (.post, "/v1/accounts:signUp", "idToken"),
            (.post, "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k", "idToken"),
            (.get, "/?Action=AssumeRoleWithWebIdentity", "ErrorResponse"), (.get, "/ferry", "<Code>AccessDenied"),
            (.get, "/ferry/v1/accounts:signUp", "<Code>AccessDenied"), (.put, "/ferry/healthz", "<Code>AccessDenied"),
            (.get, "/?list-type=2", "<Code>AccessDenied"), (.get, "/healthz/", "<Code>AccessDenied"),
        ] as [(HTTPMethod, String, String)])
    func `each path leads to its part`(method: HTTPMethod, target: String, part: String) async throws {
        let answer = try await answer(method, target, body: method == .post ? "{}" : "")
        #expect(answer.body.contains(part), "\(answer.body)")
    }

    @Test(
        arguments: [
            (.post, "/v1/accounts:unheardOf"), (.get, "/v1/projects/p/anything"), (.get, "/v2/recaptchaConfig?key=k"),
            (.delete, "/emulator/v1/projects/p/accounts"), (.put, "/emulator/object"), (.get, "/v1"), (.get, "/v2/"),
            (.post, "/identitytoolkit.googleapis.com/v2/accounts/mfaSignIn:start"),
            (.post, "/identitytoolkit.googleapis.com/v1/accounts:unheardOf"),
            (.post, "/securetoken.googleapis.com/v2/token"), (.post, "/v1%2Faccounts:unheardOf"),
        ] as [(HTTPMethod, String)])
    func `unknown operations of Google's libraries have Google's errors`(method: HTTPMethod, target: String)
        async throws
    {
        let answer = try await answer(method, target)
        let error = try #require(try JSON(parsing: answer.body)["error"])
        if answer.status == .notFound {
            #expect(error["code"]?.integerValue == 404 && error["status"]?.stringValue == "NOT_FOUND")
        }
        #expect(error["message"]?.stringValue?.isEmpty == false && (400..<500).contains(answer.status.rawValue))
    }

    @Test(arguments: ["/v1x", "/emulators/a", "/xv1/", "/identitytoolkit.googleapis.co/v1/"])
    func `a path that only starts like one of Google's is S3's`(target: String) async throws {
        #expect(try await answer(.get, target).body.contains("<Error>"))
    }

    @Test func `a signed request to the root is S3's`() async throws {
        let headers: HTTPHeaders = ["Authorization": "AWS4-HMAC-SHA256 nonsense"]
        #expect(try await answer(.get, "/", headers).body.contains("<Error>"))
    }

    @Test func `a form to the root is for STS`() async throws {
        let headers: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"]
        let answer = try await answer(.post, "/", headers, body: "Action=AssumeRoleWithWebIdentity&WebIdentityToken=x")
        #expect(answer.status == .badRequest && answer.body.contains("InvalidIdentityToken"))
    }

    @Test func `read-only paths refuse other methods`() async throws {
        for path in ["/healthz", "/.well-known/ferry", "/.well-known/jwks.json"] {
            #expect(try await answer(.put, path).status == .methodNotAllowed)
        }
    }

    private func discovery(host: String?, _ endpoints: ServerEndpoints) throws -> JSON {
        let headers: HTTPHeaders = host.map { ["Host": $0] } ?? [:]
        let target = try #require(HTTPTarget("/"))
        return endpoints.discovery(for: HTTPServerRequest(.get, target, headers: headers), accounts: "a")
    }

    @Test(
        arguments: [
            (nil, "http://127.0.0.1:7441", "127.0.0.1:7440"),
            ("localhost:7441", "http://localhost:7441", "localhost:7440"),
            ("tasks.home", "http://tasks.home", "tasks.home:7440"), ("[::1]:9", "http://[::1]:9", "[::1]:7440"),
            ("evil\"><x", "http://127.0.0.1:7441", "127.0.0.1:7440"),
            ("a/b", "http://127.0.0.1:7441", "127.0.0.1:7440"),
        ] as [(String?, String, String)])
    func `discovery names the host that the client used`(host: String?, url: String, documents: String) throws {
        let document = try discovery(host: host, endpoints)
        #expect(document["objects"]?["url"]?.stringValue == url)
        #expect(document["documents"]?["address"]?.stringValue == documents)
    }

    @Test func `a documents port on an address of its own keeps it`() throws {
        var endpoints = endpoints
        endpoints.documents.host = "10.0.0.1"
        let document = try discovery(host: "tasks.home:7441", endpoints)
        #expect(document["documents"]?["address"]?.stringValue == "10.0.0.1:7440")
    }

    @Test func `a published address is returned to every client`() throws {
        let published = try PublishedAddresses(
            web: #require(WebAddress("https://Tasks.Example.org/")),
            documents: #require(WebAddress("https://docs.example.org:8443")))
        let endpoints = ServerEndpoints(
            http: endpoints.http, documents: endpoints.documents, isSecure: false, published: published, project: "p")
        for host in [nil, "127.0.0.1:7441", "tasks.example.org"] {
            let document = try discovery(host: host, endpoints)
            for part in ["objects", "identity", "sts"] {
                #expect(document[part]?["url"]?.stringValue == "https://tasks.example.org")
            }
            #expect(document["documents"]?["address"]?.stringValue == "docs.example.org:8443")
            #expect(document["documents"]?["tls"]?.booleanValue == true)
        }
        #expect(endpoints.url == "https://tasks.example.org")
    }
}
