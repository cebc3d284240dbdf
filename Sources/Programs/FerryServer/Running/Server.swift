import AccessControl
import BucketStore
import DocumentModel
import FirestoreServer
import GRPCProtocol
import GRPCServer
import Glibc
import HTTPMessages
import HTTPServer
import IdentityProtocol
import IdentityServer
import MorningMail
import ObjectStorage
import PostgreSQL
import S3Server
import SMTPClient
import SQLite
import ServerData
import SystemIO
import SystemService

/// A running server, with its data open and its two ports bound.
struct Server: Sendable {
    let endpoints: ServerEndpoints
    private let directory: DataDirectory
    private let stores: Stores
    private let identity: IdentityService
    private let web: HTTPServer
    private let metrics: HTTPServer?
    private let documents: GRPCServer
    private let closing: AsyncGate
    private let rules: RulesFile?
    /// The certificate in use; nil without TLS.
    let certificate: Certificate?

    /// Opens the data, creating what is absent, and binds the ports. If it throws, nothing is left
    /// running.
    ///
    /// - Throws: `ServerError`, for example for a directory or port that is in use.
    static func start(_ configuration: ServerConfiguration, logger: Logger) async throws -> Server {
        let certificate = try configuration.tls.map { try Certificate($0) }
        let rules = try configuration.rules.map { try RulesFile($0) }
        let directory = try DataDirectory(path: configuration.data)
        let metrics = Metrics()
        let stores = try await Stores(directory, configuration, metrics, logger.labelled("documents"))
        // The HTTP port is bound before identity opens, because tokens carry the server's URL.
        let site = Site()
        let web = webServer(configuration, certificate, site, metrics, logger.labelled("http"))
        let published = configuration.metrics.map { HTTPServer(for: metrics, host: $0.host, port: $0.port) }
        do {
            var http = configuration.http
            if case .tcp(_, let port) = try web.start() { http.port = port }
            try published?.start()
            var endpoints = ServerEndpoints(
                http: http, documents: configuration.documents, isSecure: certificate != nil,
                published: configuration.published, project: configuration.project, objects: configuration.objects)
            let identity = try await identity(configuration, directory, stores, issuer: endpoints.url, logger)
            let quotas = AccountQuotas(quota: { identity.quota(of: $0) })
            let closing = AsyncGate(isOpen: false)
            let shared = sharedObjects(stores)
            let access = documentAccess(shared, configuration.isEmulator ? nil : quotas, rules)
            let service = documentService(configuration, stores, access, identity, quotas, closing, metrics, logger)
            let documents = documentServer(configuration, certificate, service, web)
            endpoints.documents.port = try documents.start()
            try directory.note(http: endpoints.http, isSecure: endpoints.isSecure)
            site.open(
                WebHandler(
                    endpoints: endpoints, identity: identity,
                    documents: FirestoreREST(service, isEmulator: configuration.isEmulator),
                    objects: objects(stores, shared, identity, quotas, logger.labelled("objects")),
                    standby: configuration.database == nil
                        ? StandbySource(
                            layout: DataLayout(path: directory.path), buckets: stores.buckets,
                            onPull: { logger.info("a standby copies", ["key": "\($0.id)", "label": "\($0.label)"]) })
                        : nil, probe: stores.probe)
            )
            return Server(
                endpoints: endpoints, directory: directory, stores: stores, identity: identity, web: web,
                metrics: published, documents: documents, closing: closing, rules: rules, certificate: certificate)
        } catch {
            await web.stop(within: .zero)
            await published?.stop(within: .zero)
            await stores.close()
            throw ServerError(starting: error)
        }
    }

    /// Ends the streams, and then lets the calls in progress end.
    func stopDocuments() async {
        closing.set(isOpen: true)
        await documents.shutdown(within: .seconds(2))
    }

    func stopWeb() async {
        await web.stop(within: .seconds(2))
        await metrics?.stop(within: .zero)
    }

    /// Closes the data. Call last.
    func close() async {
        await identity.close()
        await stores.close()
    }

    /// Learns what `ferry-server user` and `keys` have changed, and reads the rules again.
    func reload() async throws {
        try await identity.reload()
        try rules?.reload()
    }

    /// Returns the service that sends mails with tasks.
    func morningMails(through mail: SMTPClient.Configuration, _ logger: Logger) -> MorningMailService {
        let catalog = stores.catalog
        return MorningMailService(identity, through: mail, logger: logger) { try await catalog.store(catalog.main) }
    }

    /// Removes the data of deleted accounts.
    func removeDeletedAccounts() async throws {
        let removal = stores.removal(in: identity)
        guard let lease = stores.lease else { return try await removal.run() }
        _ = try await lease.run { try await removal.run(renew: $0) }
    }

    /// Reclaims the space of objects that a collection has removed; returns the damaged objects
    /// that could not be moved.
    func reclaimSpace() async throws -> [String] { try await stores.buckets.reclaimSpace() }

    /// Learns which accounts other servers change, until the task is cancelled.
    func followAccounts(_ logger: Logger, onChange: @Sendable () -> Void) async {
        await identity.follow(
            onChange: onChange, onError: FaultLog(logger, "changes of other servers are not seen").note)
    }

    /// Throws if the stores do not respond.
    func probe() async throws { try await stores.probe() }

    /// Moves the contents of idle write-ahead logs into their databases.
    func moveIdleLogs(_ checkpoint: IdleCheckpoint) async throws -> IdleCheckpoint {
        let layout = DataLayout(path: directory.path)
        return try await SerialThread.runOnce { _ in
            var checkpoint = checkpoint
            try checkpoint.run(on: layout.databases().map { "\(layout.path)/\($0)" })
            return checkpoint
        }
    }

    // MARK: parts

    private static func webServer(
        _ configuration: ServerConfiguration, _ certificate: Certificate?, _ site: Site, _ metrics: Metrics,
        _ logger: Logger
    ) -> HTTPServer {
        var limits = HTTPServer.Limits()
        // The limit of one PUT on S3; larger objects are uploaded in parts.
        limits.body = 5 << 30
        // Half of this memory receives the bytes of a put at each read. More would cost time,
        // because all of it is cleared for each request.
        limits.connectionMemory = 128 << 10
        return HTTPServer(
            .tcp(host: configuration.http.host, port: configuration.http.port), tls: certificate?.http, limits: limits,
            proxies: configuration.trustedProxies, threads: min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            runsHandlersOnLoop: true,
            onError: { logger.warning("a request failed", ["error": "\($0)"]) },
            handler: { request in
                let response = await site.respond(to: request)
                metrics.count(requests, ["status": "\(response.status.rawValue / 100)xx"])
                return response
            })
    }

    private static let requests = Metrics.Metric("ferry_http_requests_total", "Requests to the HTTP port.")

    private static func identity(
        _ configuration: ServerConfiguration, _ directory: DataDirectory, _ stores: Stores, issuer: String,
        _ logger: Logger
    ) async throws -> IdentityService {
        var settings = IdentityService.Configuration(issuer: issuer, project: configuration.project)
        settings.isEmulator = configuration.isEmulator
        settings.signUp = configuration.signUp
        settings.isBehindProxy = configuration.isBehindProxy
        settings.quota = configuration.quota
        settings.providers = configuration.providers
        if let mail = configuration.mail { settings.send(through: SMTPClient(mail)) }
        settings.onMailError = FaultLog(logger.labelled("accounts"), "a mail was not sent").note
        settings.usage = { try await stores.usage(of: $0) }
        if configuration.objects == nil {
            settings.copyObjects = { source, target, after, limit in
                let (store, bucket) = (stores.buckets, DataLayout.bucket)
                return try await AccountCopy(store: store, bucket: bucket, limit: limit, now: WallClock.microseconds)
                    .copyPage(from: source, to: target, after: after)
            }
        }
        return try await IdentityService(
            stores.accounts ?? .directory(directory.accounts), settings, now: WallClock.seconds)
    }

    private static func documentService(
        _ configuration: ServerConfiguration, _ stores: Stores, _ access: any DocumentAccessPolicy,
        _ identity: IdentityService, _ quotas: AccountQuotas, _ closing: AsyncGate, _ metrics: Metrics, _ logger: Logger
    ) -> FirestoreService {
        FirestoreService(
            catalog: stores.catalog,
            authenticator: DocumentAuthenticator(
                identity.authenticator, quotas: quotas, isEmulator: configuration.isEmulator),
            access: access, closing: closing, now: WallClock.seconds, metrics: CallMetrics(metrics),
            onError: FaultLog(logger.labelled("documents"), "a call failed").note)
    }

    private static func documentServer(
        _ configuration: ServerConfiguration, _ certificate: Certificate?, _ service: FirestoreService,
        _ web: HTTPServer
    ) -> GRPCServer {
        let authenticator = service.authenticator
        var settings = GRPCServerConfiguration(
            host: configuration.documents.host, port: configuration.documents.port)
        settings.authorize = { metadata throws(GRPCStatus) in try authenticator.caller(of: metadata) }
        settings.trustedProxies = configuration.trustedProxies
        // Each machine has a connection. A quarter of the descriptors is for everything else.
        settings.limits.connections = max(settings.limits.connections, sysconf(Int32(_SC_OPEN_MAX)) / 4 * 3)
        settings.maximumReceiveSize = FirestoreService.requestLimit
        if let certificate { settings.security = certificate.grpc }
        // Clients of the REST interface know this address only, as with Google's emulator.
        settings.handOver = { web.adopt($0) }
        return GRPCServer(settings, routes: service.routes)
    }

    private static func documentAccess(
        _ shared: SharedObjects, _ quotas: AccountQuotas?, _ rules: RulesFile?
    ) -> any DocumentAccessPolicy {
        guard let rules else { return DocumentAccess(objects: shared, quotas: quotas) }
        return WrittenRules(
            objects: shared, quotas: quotas, rules: { rules.current },
            now: { Timestamp(microseconds: WallClock.microseconds()) })
    }

    private static func sharedObjects(_ stores: Stores) -> SharedObjects {
        let catalog = stores.catalog
        return SharedObjects(
            database: catalog.main, store: { try await catalog.store(catalog.main) },
            manifest: { try await stores.manifest(at: $0) })
    }

    private static func objects(
        _ stores: Stores, _ shared: SharedObjects, _ identity: IdentityService, _ quotas: AccountQuotas,
        _ logger: Logger
    ) -> S3Handler {
        S3Handler(
            store: stores.buckets, credentials: IdentityCredentials(storage: identity.storage),
            policy: SharingPolicy(objects: shared), quotas: quotas, now: WallClock.microseconds,
            onError: FaultLog(logger, "a request failed").note)
    }
}

extension ServerError {
    /// Creates the error for a failed start, with a code that tells who can fix it.
    init(starting error: any Error) {
        switch error {
        case let error as ServerError: self = error
        case let error as GRPCServerError where error.code == .badCertificate:
            self.init(.configuration, error.message, cause: error)
        case let error as HTTPError where error.code == .insecure || error.code == .invalidMessage:
            self.init(.configuration, error.message, cause: error)
        default: self.init(.failed, "\(error)", cause: error)
        }
    }
}
