import IdentityProtocol
import IdentityServer
import SMTPClient
import ServerData
import SystemIO
import SystemService

/// The settings of a server.
struct ServerConfiguration: Sendable, Hashable {
    /// The PEM files of a certificate chain and its private key.
    struct TLS: Sendable, Hashable {
        var certificate: String
        var key: String
    }

    /// The directory with all data of the server.
    var data: String
    var documents = ListenAddress(host: "127.0.0.1", port: 7440)
    var http = ListenAddress(host: "127.0.0.1", port: 7441)
    /// The address of metrics for Prometheus, on loopback; nil for none.
    var metrics: ListenAddress?
    var tls: TLS?
    /// The addresses of a proxy through which clients reach the server; nil if they use the
    /// listening addresses.
    var published: PublishedAddresses?
    /// The proxies whose header fields name a client's address.
    var trustedProxies = TrustedProxies()
    /// Whether to behave like Google's emulator for clients with FIRESTORE_EMULATOR_HOST:
    /// `Bearer owner` is an administrator, ID tokens need no signature, and databases are created
    /// at first use. On loopback only.
    var isEmulator = false
    /// Whether other machines may be served without TLS.
    var allowsPlaintext = false
    /// The audience of ID tokens and the project of the database.
    var project = "ferry"
    /// The bucket of another store for attachments; nil if the server holds them.
    var objects: ForeignBucket?
    /// A file with keys for that bucket; nil if nothing is to be removed from it.
    var objectsKeys: String?
    /// The number of days for which an unused object stays marked for deletion before it is
    /// removed; see `CollectionTerms`.
    var objectsGraceDays = 30
    static let objectsGraceRange = 2...3650
    /// The configured rule for who may create an account; nil for the default of `signUp`.
    var signUpSetting: SignUpPolicy?
    /// The quota of accounts, unless `ferry-server user quota` sets another.
    var quota = AccountQuota()
    /// The PostgreSQL server that holds documents and accounts; nil if the data directory does.
    var database: DatabaseServer?
    /// The OpenID providers with whose accounts users may sign in.
    var providers: [OpenIDConfiguration] = []
    /// The mail server; nil if the server sends no mail.
    var mail: SMTPClient.Configuration?
    /// A file of security rules for documents; nil for the built-in rules.
    var rules: String?
    /// Whether the server starts although the system's clock is more than a year after the newest commit.
    var acceptsClock = false
    var logLevel = LogLevel.info

    /// The rule for who may create an account. By default an invitation is needed if users of other
    /// machines can reach the server.
    var signUp: SignUpPolicy { signUpSetting ?? (isEmulator || !isReachableFromElsewhere ? .open : .invite) }

    /// The names of the settings that differ from those of another configuration.
    func names(differingFrom other: ServerConfiguration) -> [String] {
        [
            ("data", data == other.data), ("documents", documents == other.documents), ("http", http == other.http),
            ("metrics", metrics == other.metrics),
            ("tls-cert", tls?.certificate == other.tls?.certificate), ("tls-key", tls?.key == other.tls?.key),
            ("url", published?.web == other.published?.web),
            ("documents-url", published?.documents == other.published?.documents),
            ("trusted-proxy", trustedProxies == other.trustedProxies), ("emulator", isEmulator == other.isEmulator),
            ("insecure", allowsPlaintext == other.allowsPlaintext), ("project", project == other.project),
            ("objects, objects-region", objects == other.objects), ("objects-keys", objectsKeys == other.objectsKeys),
            ("database, database-password", database == other.database),
            ("objects-grace", objectsGraceDays == other.objectsGraceDays), ("sign-up", signUp == other.signUp),
            ("quota-objects, quota-documents or quota-requests", quota == other.quota),
            ("openid", providers == other.providers), ("smtp, smtp-from or smtp-password", mail == other.mail),
            ("log-level", logLevel == other.logLevel),
        ].filter { !$0.1 }.map(\.0)
    }

    private var isReachableFromElsewhere: Bool {
        [http, documents].contains { !$0.isLoopback } || isBehindProxy
    }

    /// Whether a proxy makes the server reachable for others, so that requests from this machine
    /// may come from its clients.
    var isBehindProxy: Bool { published.map { !$0.web.address.isLoopback } ?? false }
}

/// The addresses at which clients reach the two ports of a server behind a proxy. Both may be the
/// same.
struct PublishedAddresses: Sendable, Hashable {
    let web: WebAddress
    let documents: WebAddress
}
