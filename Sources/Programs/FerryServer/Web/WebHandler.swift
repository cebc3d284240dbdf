import BucketStore
import FirestoreServer
import HTTPMessages
import HTTPServer
import IdentityServer
import JSON
import S3Server
import ServerData

/// The handler of all requests on the HTTP port: discovery, health, documents, identity, and S3 for the rest.
struct WebHandler: Sendable {
    let endpoints: ServerEndpoints
    let identity: IdentityService
    let documents: FirestoreREST
    let objects: S3Handler
    /// The data for a standby; nil if documents and accounts are in a database.
    var standby: StandbySource?
    /// Throws if the server does not work.
    let probe: @Sendable () async throws -> Void

    func respond(to request: HTTPServerRequest) async -> HTTPResponse {
        switch request.target.path {
        case "/.well-known/ferry": return discovery(request)
        case "/healthz": return await health(request)
        case "/" where isVisit(request): return welcome(request)
        default: break
        }
        if let response = await standby?.respond(to: request) { return response }
        guard GooglePaths.contain(request.target.path) else {
            if let response = await IdentityRouter(identity).handle(request) { return response }
            return await objects.respond(to: request)
        }
        if request.method == .options { return GooglePaths.preflight(request) }
        return GooglePaths.shared(await callOfGoogles(request))
    }

    private func callOfGoogles(_ request: HTTPServerRequest) async -> HTTPResponse {
        if let response = await documents.handle(request) { return response }
        return await IdentityRouter(identity).handle(request) ?? GooglePaths.unknown(request)
    }

    private func discovery(_ request: HTTPServerRequest) -> HTTPResponse {
        guard isReading(request) else { return HTTPResponse(.methodNotAllowed, headers: ["Allow": "GET, HEAD"]) }
        return HTTPResponse(
            headers: ["Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-cache", "Vary": "Host"],
            body: .bytes(endpoints.discovery(for: request, accounts: identity.lineage).bytes))
    }

    private func health(_ request: HTTPServerRequest) async -> HTTPResponse {
        guard isReading(request) else { return HTTPResponse(.methodNotAllowed, headers: ["Allow": "GET, HEAD"]) }
        do {
            try await probe()
            return .text(.ok, "ok\n")
        } catch {
            objects.report(error)
            return .text(.serviceUnavailable, "The server cannot reach its data; its log has the reason.\n")
        }
    }

    /// Whether a person looks at the URL. A signed request to the root is S3's list of buckets.
    private func isVisit(_ request: HTTPServerRequest) -> Bool {
        isReading(request) && request.target.query.isEmpty && request.headers["Authorization"] == nil
    }

    private func welcome(_ request: HTTPServerRequest) -> HTTPResponse {
        .text(
            .ok,
            """
            This is ferry-server \(FerryServerTool.version).

            Sign a machine in to it with:  ferry login \(endpoints.url(for: request))

            """)
    }

    private func isReading(_ request: HTTPServerRequest) -> Bool { request.method == .get || request.method == .head }
}
